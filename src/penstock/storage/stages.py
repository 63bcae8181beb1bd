"""Stages as the tables know them. One function per query of ``sql/stages.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.storage.queries import load

_sql = load("stages")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A stage as the code declares it."""

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


async def register(connection: Connection, pipeline: str, declared: Sequence[Declared]) -> dict[str, int]:
    """Store what the code declares, if it changed; returns the ids by stage name."""
    known = {row["name"]: row for row in await connection.fetch(_sql.registered, pipeline)}
    if not all(_same(known.get(one.name), one) for one in declared):
        await connection.execute(
            _sql.register,
            pipeline,
            [one.name for one in declared],
            [one.position for one in declared],
            [one.max_attempts for one in declared],
            [one.max_running for one in declared],
            [one.policy for one in declared],
        )
        known = {row["name"]: row for row in await connection.fetch(_sql.registered, pipeline)}
    return {name: row["id"] for name, row in known.items()}


def _same(row: Any, declared: Declared) -> bool:
    return (
        row is not None
        and row["position"] == declared.position
        and row["max_attempts"] == declared.max_attempts
        and (declared.max_running is None or row["max_running"] == declared.max_running)
        and orjson.loads(row["policy"]) == orjson.loads(declared.policy)
    )


async def limits(connection: Connection) -> list[Limits]:
    """Of every stage there is, whoever serves it."""
    return [Limits(**dict(row)) for row in await connection.fetch(_sql.limits)]


async def listing(connection: Connection) -> list[dict[str, Any]]:
    rows = [dict(row) for row in await connection.fetch(_sql.list)]
    for row in rows:
        row["policy"] = orjson.loads(row["policy"])
    return rows


async def pause(connection: Connection, pipeline: str, name: str | None, by: str, reason: str | None) -> int:
    return len(await connection.fetch(_sql.pause, pipeline, name, by, reason))


async def resume(connection: Connection, pipeline: str, name: str | None) -> int:
    return len(await connection.fetch(_sql.resume, pipeline, name))


async def limit(connection: Connection, pipeline: str, name: str | None, max_running: int | None) -> int:
    return len(await connection.fetch(_sql.limit, pipeline, name, max_running))
