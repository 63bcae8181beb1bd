"""What sources answered, kept for all projects. One function per query of ``sql/cache.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from penstock.extensions.linking.entity import Entity, from_json, to_json
from penstock.extensions.linking.project import Project, types_key
from penstock.storage.queries import load

_sql = load("cache", "penstock.extensions.linking")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """As it was when the run began: types that change meanwhile are asked for by the next run."""

    language: str
    query: str
    types: tuple[str, ...]

    @property
    def types_key(self) -> str:
        return types_key(self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``ids``: best first. ``scores``: what the source itself gave, where it does."""

    ids: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Course:
    """What came of a name. ``asked``: answers that were not cached, by language; ``entities``: what came along."""

    language: str
    answer: Answer
    asked: dict[str, Answer] = field(default_factory=dict)
    entities: dict[str, Entity | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """``wanted``: entities nobody fetches yet, counted up to a batch. ``searching``: more may come soon."""

    wanted: int
    searching: bool


async def answer(
    connection: Connection, source: str, question: Question, *, days: float, candidates: int
) -> Answer | None:
    """None: nobody asked, too long ago, or for fewer candidates."""
    asked = (question.language, question.query, question.types_key)
    row = await connection.fetchrow(_sql.answer, source, *asked, days, candidates)
    return None if row is None else _answer(row)


async def answers(
    connection: Connection, *, source: str, types: str, names: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Answer]:
    """(language, query) → what is known, whatever its age."""
    languages, queries = [language for language, _ in names], [query for _, query in names]
    rows = await connection.fetch(_sql.answers, source, types, languages, queries)
    return {(row["language"], row["query"]): _answer(row) for row in rows}


async def answered(
    connection: Connection,
    project: Project,
    question: Question,
    course: Course,
    *,
    candidates: int,
    days: float,
    languages: Sequence[str],
) -> int | None:
    """``languages``: what the entities have to be told in. Returns how many of them nobody had asked for; None: the
    project is not in that run any more, and nothing was written."""
    kept = [
        {"language": one, "ids": found.ids, "scores": dict(found.scores) or None} for one, found in course.asked.items()
    ]
    asked = (project.id, project.run, question.language, question.query, orjson.dumps(kept).decode())
    told = (list(course.answer.ids), days, course.language, candidates, list(languages), question.types_key)
    row = await connection.fetchrow(_sql.answered, *asked, *told)
    return row["new"] if row["held"] else None


async def languages_of(connection: Connection, source: str, ids: Sequence[str]) -> list[str]:
    return [row["language"] for row in await connection.fetch(_sql.languages_of, source, ids)]


async def keep(
    connection: Connection, source: str, found: Mapping[str, Entity | None], *, languages: Sequence[str] | None = None
) -> None:
    """Asked id → entity. One that moved is kept under both ids, one that is gone as missing. ``languages``: what they
    were asked for in; None: they came along with a search."""
    rows: dict[str, tuple[str | None, bool, str | None]] = {}
    for asked, entity in found.items():
        if entity is None:
            rows.setdefault(asked, (None, True, None))
            continue
        rows[entity.id] = (orjson.dumps(to_json(entity)).decode(), False, None)
        if entity.id != asked:
            rows[asked] = (None, False, entity.id)
    columns = [list(column) for column in zip(*rows.values(), strict=True)] or [[], [], []]
    asked_in = None if languages is None else list(languages)
    await connection.execute(_sql.keep, source, list(rows), *columns, asked_in)


async def entities(connection: Connection, source: str, ids: Sequence[str]) -> dict[str, Entity]:
    """Asked id → what it is now. Missing ones are left out."""
    rows = await connection.fetch(_sql.entities, source, ids)
    return {row["asked"]: from_json(orjson.loads(row["data"])) for row in rows}


async def demand(connection: Connection, source: str, *, batch: int, searches: str) -> Demand:
    """``searches``: the pipeline that searches."""
    return Demand(**await connection.fetchrow(_sql.demand, source, batch, searches))


async def one_maker(connection: Connection, source: str) -> None:
    await connection.execute(_sql.one_maker, source)


async def wanted(connection: Connection, source: str, limit: int) -> list[str]:
    return [row["id"] for row in await connection.fetch(_sql.wanted, source, limit)]


async def give_to(connection: Connection, source: str, ids: Sequence[str], task_id: int) -> None:
    await connection.execute(_sql.give_to, source, ids, task_id)


async def given_to(connection: Connection, source: str, ids: Sequence[str], task_id: int) -> list[str]:
    return [row["id"] for row in await connection.fetch(_sql.given_to, source, ids, task_id)]


async def free_lost(connection: Connection, source: str) -> None:
    await connection.execute(_sql.free_lost, source)


async def dead(connection: Connection, source: str) -> dict[int, list[str]]:
    """Task → the entities that died with it."""
    return {row["batch"]: list(row["ids"]) for row in await connection.fetch(_sql.dead, source)}


async def pass_on(connection: Connection, source: str, ids: Sequence[str], *, old: int, new: int) -> None:
    await connection.execute(_sql.pass_on, source, ids, old, new)


async def give_up(connection: Connection, source: str, ids: Sequence[str]) -> None:
    await connection.execute(_sql.give_up, source, ids)


async def forget_searches(connection: Connection, days: float, most: int) -> int:
    """How many there were."""
    return _count(await connection.execute(_sql.forget_searches, days, most))


async def forget_entities(connection: Connection, days: float, most: int) -> int:
    return _count(await connection.execute(_sql.forget_entities, days, most))


def _count(said: str) -> int:
    return int(said.rpartition(" ")[2])


def _answer(row: Any) -> Answer:
    scores = {} if row["scores"] is None else orjson.loads(row["scores"])
    return Answer(ids=tuple(row["ids"]), scores=scores)
