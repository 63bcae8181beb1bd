"""Stages as the tables know them. One function per query of ``sql/stages.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.errors import PipelineTaken
from penstock.storage.queries import Connection, Counted, Records, columns, load

_sql = load("stages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A stage as the code declares it; in the order of the parameters of ``register``."""

    name: str
    position: int
    max_attempts: int
    max_running: int | None
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a claim has to heed of a stage."""

    id: int
    pipeline: str
    max_running: int | None
    paused: bool


async def register(
    connection: Connection, pipeline: str, declared: Sequence[Declared], application: str | None = None
) -> dict[str, int]:
    """Store what the code declares, if it changed; returns the ids by stage name. ``application``: None for stages
    that every worker runs. Raises :class:`PipelineTaken` where the pipeline belongs to another application."""
    known = await _registered(connection, pipeline, application)
    if not all(_same(known.get(one.name), one, application) for one in declared):
        async with connection.transaction():
            await connection.execute(_sql.turn, pipeline)
            await _registered(connection, pipeline, application)
            await connection.execute(_sql.register, pipeline, *columns(Declared, declared), application)
            known = await _registered(connection, pipeline, application)
    return {name: row["id"] for name, row in known.items()}


async def _registered(connection: Connection, pipeline: str, application: str | None) -> dict[str, Any]:
    rows = await connection.fetch(_sql.registered, pipeline)
    for row in rows:
        if _taken(row, application):
            raise PipelineTaken(pipeline=pipeline, application=application, owner=row["application"])
    return {row["name"]: row for row in rows}


def _taken(row: Any, application: str | None) -> bool:
    return row["application"] not in (None, application)


async def ids(connection: Connection, owners: Mapping[str, str | None]) -> dict[tuple[str, str], int]:
    """Of the stages that are registered, by pipeline and stage. ``owners``: the application of each pipeline; one of
    another application is left out."""
    rows = await connection.fetch(_sql.ids, list(owners))
    return {(row["pipeline"], row["name"]): row["id"] for row in rows if not _taken(row, owners[row["pipeline"]])}


async def applications(connection: Connection) -> dict[str, list[str]]:
    """The pipelines of each application."""
    found: dict[str, list[str]] = {}
    for row in await connection.fetch(_sql.applications):
        found.setdefault(row["application"], []).append(row["pipeline"])
    return found


async def transfer(connection: Connection, application: str, to: str, pipelines: Sequence[str]) -> list[str]:
    """The pipelines that belong to ``to`` now."""
    return sorted({row["pipeline"] for row in await connection.fetch(_sql.transfer, application, to, pipelines)})


def _same(row: Any, declared: Declared, application: str | None) -> bool:
    return (
        row is not None
        and row["application"] == application
        and row["position"] == declared.position
        and row["max_attempts"] == declared.max_attempts
        and (declared.max_running is None or row["max_running"] == declared.max_running)
        and orjson.loads(row["policy"]) == orjson.loads(declared.policy)
    )


listing = Records[[], dict[str, Any]](_sql.list, dict, json=("policy",))
pause = Counted[[str, str | None, str, str | None]](_sql.pause)  # pipeline, name, by, reason
resume = Counted[[str, str | None]](_sql.resume)  # pipeline, name
limit = Counted[[str, str | None, int | None]](_sql.limit)  # pipeline, name, max_running
