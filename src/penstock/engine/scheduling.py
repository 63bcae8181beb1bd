"""What code and people do with schedules: declare, create, change, pause, fire now, look.

Here, and not in ``storage/schedules.py``, because a next fire time has to be calculated on the way.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, cast

from penstock.engine.schedule import Missed, ScheduleDefinition, fires_after, next_fire
from penstock.errors import InvalidDefinition, NotKnown, UnknownTask, UsageError
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
            changed = await schedules.declare(connection, [_new(one, now) for one in wanted], source)
            left = await schedules.undeclare(connection, source, [one.name for one in wanted])
    return {"declared": len(wanted), "changed": len(changed), "left": len(left)}


async def create(connection: Connection, definition: ScheduleDefinition) -> ScheduleView:
    with translated():
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.create(connection, _new(definition, now)):
            raise UsageError(
                f"There is a schedule {definition.name!r} already. Change that one, or choose another name."
            )
    return await show(connection, definition.name)


async def update(connection: Connection, definition: ScheduleDefinition) -> ScheduleView:
    """Replaces all of a person's schedule. The next time is calculated anew if cron or zone changed."""
    with translated():
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.update(connection, _new(definition, now)):
            await _refuse(connection, definition.name, "changed")
    return await show(connection, definition.name)


async def delete(connection: Connection, name: str) -> None:
    """The tasks it fired stay."""
    with translated():
        if not await schedules.delete(connection, name):
            await _refuse(connection, name, "deleted")


async def pause(connection: Connection, name: str, *, by: str) -> ScheduleView:
    with translated():
        if not await schedules.pause(connection, name, by):
            raise await _not_known(connection, name)
    return await show(connection, name)


async def resume(connection: Connection, name: str) -> ScheduleView:
    """Goes on with the next time from now: what passed during the pause was not wanted."""
    paused = (await show(connection, name)).schedule
    with translated():
        await schedules.resume(connection, name, next_fire(times_of(paused), paused.read_at))
    return await show(connection, name)


async def fire_now(connection: Connection, name: str) -> int:
    """Enqueues the schedule's task once more, paused or not; its next time stays. Returns the task."""
    with translated():
        task_id = await schedules.fire_now(connection, name)
        if task_id is None:
            raise await _not_known(connection, name)
    return task_id


async def show(connection: Connection, name: str) -> ScheduleView:
    with translated():
        found = await schedules.get(connection, name)
        if found is None:
            raise await _not_known(connection, name)
    return _view(found)


async def listing(connection: Connection) -> list[ScheduleView]:
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


def _new(definition: ScheduleDefinition, now: datetime) -> NewSchedule:
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


async def _known_pipeline(connection: Connection, pipeline: str) -> None:
    known = await schedules.pipelines(connection)
    if pipeline not in known:
        raise UnknownTask(pipeline, known)


async def _refuse(connection: Connection, name: str, what: str) -> None:
    if await schedules.get(connection, name) is None:
        raise await _not_known(connection, name)
    raise UsageError(
        f"Schedule {name!r} is declared in code and cannot be {what} here: the next start would undo it. "
        "Change the code, or pause the schedule."
    )


async def _not_known(connection: Connection, name: str) -> NotKnown:
    return NotKnown(kind="schedule", name=name, known=await schedules.names(connection))
