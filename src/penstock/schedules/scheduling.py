"""Schedules as code declares them and as people see them; what people do with them is in ``steering/schedules.py``.

Here, and not in ``storage/schedules.py``, because a next fire time has to be calculated on the way.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, cast

from penstock.errors import InvalidDefinition, NotKnown
from penstock.schedules.schedule import Missed, ScheduleDefinition, fires_after, next_fire
from penstock.storage import schedules
from penstock.storage.database import translated
from penstock.storage.schedules import NewSchedule, Schedule

UPCOMING = 5
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule as people see it. ``upcoming`` is empty while it is paused or stopped."""

    schedule: Schedule
    upcoming: tuple[datetime, ...]


def times_of(schedule: Schedule) -> ScheduleDefinition:
    """When it fires, without what it enqueues: a bad input must not keep anybody from knowing the times.

    Checked again: the row may have been written by hand, or on a machine that knows other time zones.
    """
    return ScheduleDefinition(
        name=schedule.name,
        cron=schedule.cron,
        timezone=schedule.timezone,
        pipeline=schedule.pipeline,
        missed=cast(Missed, schedule.missed),
    )


async def declare(
    connection: Connection, definitions: Iterable[ScheduleDefinition], *, source: str = "app"
) -> dict[str, int]:
    """Store what the code of ``source`` declares. What it declared earlier and does not any more keeps firing
    and is marked: a worker started with half of the modules imported must not stop anybody's nightly run."""
    wanted = list(definitions)
    twice = [name for name, count in Counter(one.name for one in wanted).items() if count > 1]
    if twice:
        raise InvalidDefinition(what=f"Schedule {twice[0]!r}", problem="two schedules have this name; rename one")
    with translated():
        async with connection.transaction():
            now = await schedules.database_now(connection)
            changed = await schedules.declare(connection, [new_row(one, now) for one in wanted], source)
            left = await schedules.undeclare(connection, source, [one.name for one in wanted])
    return {"declared": len(wanted), "changed": len(changed), "left": len(left)}


async def show(connection: Connection, name: str) -> ScheduleView:
    with translated():
        found = await schedules.get(connection, name)
        if found is None:
            raise await not_known(connection, name)
    return _view(found)


async def listing(connection: Connection) -> list[ScheduleView]:
    """All of them, as they are now."""
    with translated():
        return [_view(schedule) for schedule in await schedules.listing(connection)]


def _view(schedule: Schedule) -> ScheduleView:
    """A row that cannot be read is shown like any other: its last error says what is wrong."""
    upcoming: tuple[datetime, ...] = ()
    if schedule.paused_at is None and schedule.next_fire_at is not None:
        try:
            later = fires_after(times_of(schedule), schedule.next_fire_at)
            upcoming = (schedule.next_fire_at, *islice(later, UPCOMING - 1))
        except InvalidDefinition:
            upcoming = ()
    return ScheduleView(schedule=schedule, upcoming=upcoming)


def new_row(definition: ScheduleDefinition, now: datetime) -> NewSchedule:
    return NewSchedule(
        name=definition.name,
        cron=definition.cron,
        timezone=definition.timezone,
        pipeline=definition.pipeline,
        input=definition.stored_input(),
        options=definition.stored_options(),
        missed=definition.missed,
        next_fire_at=next_fire(definition, now),
    )


async def not_known(connection: Connection, name: str) -> NotKnown:
    return NotKnown(kind="schedule", name=name, known=await schedules.names(connection))
