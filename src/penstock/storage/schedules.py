"""Schedules: what is due, and its one fire per time. One function per query of ``sql/schedules.sql``.

Nothing here knows what a cron expression means: ``schedules/scheduling.py`` calculates the next times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from penstock.storage.queries import Changed, Column, Command, Connection, Record, Records, Value, columns, load

_sql = load("schedules")
_JSON = ("input", "options")


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


database_now = Value[[], datetime](_sql.now)
due = Records[[int], Schedule](_sql.due, Schedule, json=_JSON)  # limit
# First statement of a fire's transaction.
bound = Command[[]](_sql.bound)
fire = Records[[str, Sequence[datetime], Sequence[str]], Fire](_sql.fire, Fire)  # name, times, keys
fail = Changed[[str, datetime, datetime | None, str]](_sql.fail)  # name, expected, next_fire_at, error
# None where there is no such schedule.
fire_now = Value[[str], int | None](_sql.fire_now)
undeclare = Column[[str, Sequence[str]], str](_sql.undeclare)  # source, still_declared
transfer = Command[[str, str]](_sql.transfer)  # source, to
delete = Changed[[str]](_sql.delete)
pause = Changed[[str, str]](_sql.pause)  # name, by
# False where it is not paused.
resume = Changed[[str, datetime | None]](_sql.resume)  # name, next_fire_at
get = Record[[str], Schedule](_sql.get, Schedule, json=_JSON)
listing = Records[[], Schedule](_sql.list, Schedule, json=_JSON)
names = Column[[], str](_sql.known)
pipelines = Column[[], str](_sql.pipelines)


async def advance(
    connection: Connection, name: str, *, expected: datetime, next_fire_at: datetime | None, fired_at: datetime | None
) -> bool:
    """False: somebody else has moved it, moves it now, or has paused it. Then there is nothing to fire."""
    return await connection.fetchval(_sql.advance, name, expected, next_fire_at, fired_at) is not None


async def declare(connection: Connection, declared: Sequence[NewSchedule], source: str) -> list[str]:
    """Names of those that were new or changed."""
    rows = await connection.fetch(_sql.declare, *columns(NewSchedule, declared), source)
    return [row["name"] for row in rows]


async def create(connection: Connection, new: NewSchedule) -> bool:
    return await connection.fetchval(_sql.create, *_values(new)) is not None


async def update(connection: Connection, new: NewSchedule) -> bool:
    return await connection.fetchval(_sql.update, *_values(new)) is not None
