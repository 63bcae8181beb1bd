"""Schedules: what is due, and its one fire per time. One function per query of ``sql/schedules.sql``.

Nothing here knows what a cron expression means: ``schedules/schedule.py`` calculates the next times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

import orjson

from penstock.storage.queries import columns, load

_sql = load("schedules")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A row, with the database's time at which it was read."""

    name: str
    cron: str
    timezone: str
    pipeline: str
    input: dict[str, Any]
    options: dict[str, Any]
    missed: str
    declared: bool
    source: str | None
    paused_at: datetime | None
    paused_by: str | None
    last_fire_at: datetime | None
    next_fire_at: datetime | None
    last_task_id: int | None
    last_error: str | None
    created_at: datetime
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """What code or a person wants stored. ``input`` and ``options`` are encoded JSON."""

    name: str
    cron: str
    timezone: str
    pipeline: str
    input: str
    options: str
    missed: str
    next_fire_at: datetime | None


# In the order of the parameters of the queries.
_values = attrgetter(*NewSchedule.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """One fire time and its task; ``created`` is false where a task for it was there already."""

    at: datetime
    task_id: int
    created: bool


async def database_now(connection: Connection) -> datetime:
    now: datetime = await connection.fetchval(_sql.now)
    return now


async def due(connection: Connection, limit: int) -> list[Schedule]:
    return [_schedule(row) for row in await connection.fetch(_sql.due, limit)]


async def bound(connection: Connection) -> None:
    """First statement of a fire's transaction."""
    await connection.execute(_sql.bound)


async def advance(
    connection: Connection,
    name: str,
    expected: datetime,
    next_fire_at: datetime | None,
    fired_at: datetime | None,
) -> bool:
    """False: somebody else has moved it, moves it now, or has paused it. Then there is nothing to fire."""
    return await connection.fetchval(_sql.advance, name, expected, next_fire_at, fired_at) is not None


async def fire(connection: Connection, name: str, times: Sequence[datetime], keys: Sequence[str]) -> list[Fire]:
    return [Fire(**dict(row)) for row in await connection.fetch(_sql.fire, name, times, keys)]


async def fail(
    connection: Connection, name: str, expected: datetime, next_fire_at: datetime | None, error: str
) -> bool:
    return await connection.fetchval(_sql.fail, name, expected, next_fire_at, error) is not None


async def fire_now(connection: Connection, name: str) -> int | None:
    """None where there is no such schedule."""
    task_id: int | None = await connection.fetchval(_sql.fire_now, name)
    return task_id


async def declare(connection: Connection, declared: Sequence[NewSchedule], source: str) -> list[str]:
    """Names of those that were new or changed."""
    rows = await connection.fetch(_sql.declare, *columns(NewSchedule, declared), source)
    return [row["name"] for row in rows]


async def undeclare(connection: Connection, source: str, still_declared: Sequence[str]) -> list[str]:
    return [row["name"] for row in await connection.fetch(_sql.undeclare, source, still_declared)]


async def transfer(connection: Connection, source: str, to: str) -> None:
    await connection.execute(_sql.transfer, source, to)


async def create(connection: Connection, new: NewSchedule) -> bool:
    return await connection.fetchval(_sql.create, *_values(new)) is not None


async def update(connection: Connection, new: NewSchedule) -> bool:
    return await connection.fetchval(_sql.update, *_values(new)) is not None


async def delete(connection: Connection, name: str) -> bool:
    return await connection.fetchval(_sql.delete, name) is not None


async def pause(connection: Connection, name: str, by: str) -> bool:
    return await connection.fetchval(_sql.pause, name, by) is not None


async def resume(connection: Connection, name: str, next_fire_at: datetime | None) -> bool:
    """False where it is not paused."""
    return await connection.fetchval(_sql.resume, name, next_fire_at) is not None


async def get(connection: Connection, name: str) -> Schedule | None:
    row = await connection.fetchrow(_sql.get, name)
    return None if row is None else _schedule(row)


async def listing(connection: Connection) -> list[Schedule]:
    return [_schedule(row) for row in await connection.fetch(_sql.list)]


async def names(connection: Connection) -> list[str]:
    return [row["name"] for row in await connection.fetch(_sql.known)]


async def pipelines(connection: Connection) -> list[str]:
    return [row["pipeline"] for row in await connection.fetch(_sql.pipelines)]


def _schedule(row: Any) -> Schedule:
    values = dict(row)
    values["input"] = orjson.loads(values["input"])
    values["options"] = orjson.loads(values["options"])
    return Schedule(**values)
