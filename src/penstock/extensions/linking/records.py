"""Records in the database. One function per query of ``sql/records.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.errors import RowNotFound
from penstock.extensions.linking.record import Record, RecordState
from penstock.extensions.linking.scoring.score import Verdict
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("records", "penstock.extensions.linking")
Connection = Any
# In so many parts of the same width the queries count scores.
SCORE_STEPS = 20


class RecordNotFound(RowNotFound):
    def __init__(self, project_id: int, number: int) -> None:
        Exception.__init__(
            self,
            f"Project {project_id} has no record {number:,}. `penstock link review {project_id}` shows what it has.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A record that a run may take. ``digest``: of what was matched last, None before."""

    id: int
    number: int
    cells: Mapping[str, str]
    digest: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why `count` records are in ERROR."""

    __pydantic_config__ = WIRE

    reason: str | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """What a record is asked for as."""

    id: int
    query: str
    language: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A record whose candidates are all there."""

    id: int
    project_id: int
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Records of a state whose score is in one of ``SCORE_STEPS``; None: without a score."""

    state: RecordState
    step: int | None
    count: int


async def copy(connection: Connection, project_id: int, first_number: int, rows: Sequence[Mapping[str, str]]) -> None:
    """A batch of the dataset, as fast as the database takes it."""
    given = [
        (project_id, number, orjson.dumps(cells).decode()) for number, cells in enumerate(rows, start=first_number)
    ]
    await connection.copy_records_to_table(
        "records", schema_name="record_linking", columns=["project_id", "number", "cells"], records=given
    )


async def require(connection: Connection, project_id: int, number: int) -> Record:
    row = await connection.fetchrow(_sql.get, project_id, number)
    if row is None:
        raise RecordNotFound(project_id, number)
    return record_of(row)


async def page(
    connection: Connection,
    project_id: int,
    *,
    states: Sequence[RecordState] | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[Record]:
    """By number; ``after``: that of the last one of the page before."""
    if states is None:
        rows = await connection.fetch(_sql.page, project_id, after, limit)
    else:
        rows = await connection.fetch(_sql.page_of_states, project_id, after, _distinct(states), limit)
    return [record_of(row) for row in rows]


async def page_before(
    connection: Connection,
    project_id: int,
    *,
    states: Sequence[RecordState] | None = None,
    before: int,
    limit: int = 100,
) -> list[Record]:
    """The page that ends before this number; by number as well."""
    if states is None:
        rows = await connection.fetch(_sql.page_before, project_id, before, limit)
    else:
        rows = await connection.fetch(_sql.page_of_states_before, project_id, before, _distinct(states), limit)
    return [record_of(row) for row in reversed(rows)]


async def of_numbers(connection: Connection, project_id: int, numbers: Sequence[int]) -> list[Record]:
    return [record_of(row) for row in await connection.fetch(_sql.of_numbers, project_id, list(numbers))]


async def scores(connection: Connection, project_id: int, states: Sequence[RecordState], most: int) -> list[Spread]:
    """``most``: of each state, the first ones."""
    rows = await connection.fetch(_sql.scores, project_id, _distinct(states), most)
    return [Spread(state=RecordState(row["state"]), step=row["step"], count=row["n"]) for row in rows]


async def of_ids(connection: Connection, ids: Sequence[int]) -> list[Record]:
    return [record_of(row) for row in await connection.fetch(_sql.of_ids, ids)]


async def counts(connection: Connection, project_id: int) -> dict[RecordState, int]:
    """Every state, also those of which there is none."""
    found = {row["state"]: row["n"] for row in await connection.fetch(_sql.counts, project_id)}
    return {state: found.get(int(state), 0) for state in RecordState}


async def failures(connection: Connection, project_id: int, limit: int) -> list[Failure]:
    return [Failure(**row) for row in await connection.fetch(_sql.failures, project_id, limit)]


async def chosen(
    connection: Connection,
    project_id: int,
    *,
    states: Sequence[RecordState],
    after: int,
    limit: int,
) -> list[Chosen]:
    rows = await connection.fetch(_sql.chosen, project_id, after, _distinct(states), limit)
    return [Chosen(**{**row, "cells": orjson.loads(row["cells"])}) for row in rows]


async def queue(connection: Connection, project_id: int, run: int, given: Sequence[Queued]) -> None:
    columns = ([one.id for one in given], [one.query for one in given], [one.language for one in given])
    await connection.execute(_sql.queue, project_id, run, *columns, [one.digest for one in given])


async def without_name(
    connection: Connection, project_id: int, run: int, given: Mapping[int, bytes], reason: str
) -> None:
    """Id → digest."""
    await connection.execute(_sql.without_name, project_id, run, list(given), list(given.values()), reason)


async def drop_candidates(connection: Connection, ids: Sequence[int]) -> None:
    await connection.execute(_sql.drop_candidates, ids)


async def end_group(
    connection: Connection,
    project_id: int,
    run: int,
    *,
    language: str,
    query: str,
    now: RecordState,
    state: RecordState,
    reason: str,
) -> int:
    """``now``: where the records of the name are at present."""
    given = (project_id, run, language, query, int(state), reason, int(now))
    ended: int = await connection.fetchval(_sql.end_group, *given)
    return ended


async def ready_by_entities(connection: Connection, source: str, ids: Sequence[str]) -> list[Ready]:
    return [Ready(**row) for row in await connection.fetch(_sql.ready_by_entities, source, ids)]


async def ready_by_group(
    connection: Connection, project_id: int, run: int, *, language: str | None = None, query: str | None = None
) -> list[Ready]:
    rows = await connection.fetch(_sql.ready_by_group, project_id, run, language, query)
    return [Ready(**row) for row in rows]


async def fail_by_entities(connection: Connection, source: str, ids: Sequence[str], reason: str) -> None:
    await connection.execute(_sql.fail_by_entities, source, ids, reason)


async def fail_left(
    connection: Connection, project_id: int, run: int, states: Sequence[RecordState], reason: str
) -> None:
    await connection.execute(_sql.fail_left, project_id, run, _distinct(states), reason)


async def fail(connection: Connection, ids: Sequence[int], run: int, reason: str) -> None:
    await connection.execute(_sql.fail, ids, run, reason)


async def cancel_left(connection: Connection, project_id: int) -> int:
    said: str = await connection.execute(_sql.cancel_left, project_id)
    return int(said.rpartition(" ")[2])


async def scored(connection: Connection, project_id: int, run: int | None, given: Mapping[int, Verdict]) -> list[int]:
    """By record; returns those that were written: others have moved on meanwhile. ``run`` None: a re-rank. Why there is
    no candidate is kept where there is none."""
    verdicts = list(given.values())
    matches = [one.match for one in verdicts]
    rows = await connection.fetch(
        _sql.scored,
        project_id,
        run,
        list(given),
        [int(one.state) for one in verdicts],
        [one and one.entity for one in matches],
        [one and one.label for one in matches],
        [one.best and one.best.score for one in verdicts],
        [one.gap for one in verdicts],
        [one.said if one.state is RecordState.NO_CANDIDATE else None for one in verdicts],
    )
    return [row["id"] for row in rows]


async def to_rescore(connection: Connection, project_id: int, *, types: str, after: int, limit: int) -> list[int]:
    """``types``: the key of what would be asked now."""
    return [row["id"] for row in await connection.fetch(_sql.to_rescore, project_id, types, after, limit)]


async def unanswered(connection: Connection, project_id: int, *, types: str) -> int:
    count: int = await connection.fetchval(_sql.unanswered, project_id, types)
    return count


def record_of(row: Any) -> Record:
    return Record(**{**row, "cells": orjson.loads(row["cells"]), "state": RecordState(row["state"])})


def _distinct(states: Sequence[RecordState]) -> list[int]:
    """A state that is named twice would bring its records twice."""
    return sorted({int(one) for one in states})
