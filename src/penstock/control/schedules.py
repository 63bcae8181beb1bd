"""What people do with schedules: create, change, delete, pause, resume, fire now."""

from typing import Any

from penstock.core.app import App
from penstock.errors import UnknownTask, UsageError
from penstock.observe.changes import tell_steered
from penstock.schedules.scheduling import (
    ScheduleDefinition,
    ScheduleView,
    new_row,
    next_fire,
    not_known,
    show,
    times_of,
)
from penstock.storage import schedules


async def create(app: App, definition: ScheduleDefinition, *, by: str) -> ScheduleView:
    """A schedule of a person; its name must be free."""
    async with app.connection() as connection:
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.create(connection, new_row(definition, now)):
            raise UsageError(
                f"There is a schedule {definition.name!r} already. Change that one, or choose another name."
            )
        return await _changed(app, connection, definition.name, "create", by)


async def update(app: App, definition: ScheduleDefinition, *, by: str) -> ScheduleView:
    """Replaces all of a person's schedule. The next time is calculated anew if cron or zone changed."""
    async with app.connection() as connection:
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.update(connection, new_row(definition, now)):
            raise await _refusal(connection, definition.name, "changed")
        return await _changed(app, connection, definition.name, "update", by)


async def delete(app: App, name: str, *, by: str) -> None:
    """The tasks it fired stay."""
    async with app.connection() as connection:
        if not await schedules.delete(connection, name):
            raise await _refusal(connection, name, "deleted")
        await tell_steered(connection, touched=("schedule", name))
    app.events.emit("schedules.steered", schedule=name, move="delete", by=by)


async def pause(app: App, name: str, *, by: str) -> ScheduleView:
    """It does not fire until it is resumed."""
    async with app.connection() as connection:
        if not await schedules.pause(connection, name, by):
            raise await not_known(connection, name)
        return await _changed(app, connection, name, "pause", by)


async def resume(app: App, name: str, *, by: str) -> ScheduleView:
    """Goes on with the next time from now: what passed during the pause was not wanted."""
    async with app.connection() as connection:
        paused = (await show(connection, name)).schedule
        await schedules.resume(connection, name, next_fire(times_of(paused), paused.read_at))
        return await _changed(app, connection, name, "resume", by)


async def fire_now(app: App, name: str, *, by: str) -> int:
    """Enqueues the schedule's task once more, paused or not; its next time stays. Returns the task."""
    async with app.connection() as connection:
        task_id = await schedules.fire_now(connection, name)
        if task_id is None:
            raise await not_known(connection, name)
        await tell_steered(connection, touched=("schedule", name))
    app.events.emit("schedules.steered", schedule=name, move="fire", by=by, tasks=[task_id])
    return task_id


async def _changed(app: App, connection: Any, name: str, move: str, by: str) -> ScheduleView:
    view = await show(connection, name)
    await tell_steered(connection, touched=("schedule", name))
    app.events.emit("schedules.steered", schedule=name, move=move, by=by)
    return view


async def _known_pipeline(connection: Any, pipeline: str) -> None:
    known = await schedules.pipelines(connection)
    if pipeline not in known:
        raise UnknownTask(pipeline, known)


async def _refusal(connection: Any, name: str, what: str) -> Exception:
    found = await schedules.get(connection, name)
    if found is None:
        return await not_known(connection, name)
    there = "Remove it there and start the application once" if what == "deleted" else "Change it there"
    return UsageError(
        f"Schedule {name!r} is declared in code by application {found.source!r} and cannot be {what} here: its next "
        f"start would undo that. {there}, or pause it: `penstock schedules pause {name}`."
    )
