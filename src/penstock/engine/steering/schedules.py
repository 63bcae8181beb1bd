"""What people do with schedules: create, change, delete, pause, resume, fire now."""

from typing import TYPE_CHECKING, Any

from penstock.engine.observe.changes import tell_steered
from penstock.engine.schedule import ScheduleDefinition, next_fire
from penstock.engine.scheduling import ScheduleView, new_row, not_known, show, times_of
from penstock.errors import UnknownTask, UsageError
from penstock.storage import schedules

if TYPE_CHECKING:
    from penstock.engine.app import Penstock


async def create(app: "Penstock", definition: ScheduleDefinition, *, by: str) -> ScheduleView:
    async with app.connection() as connection:
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.create(connection, new_row(definition, now)):
            raise UsageError(
                f"There is a schedule {definition.name!r} already. Change that one, or choose another name."
            )
        view = await show(connection, definition.name)
        await tell_steered(connection, touched=("schedule", definition.name))
    _tell(app, definition.name, "create", by)
    return view


async def update(app: "Penstock", definition: ScheduleDefinition, *, by: str) -> ScheduleView:
    """Replaces all of a person's schedule. The next time is calculated anew if cron or zone changed."""
    async with app.connection() as connection:
        await _known_pipeline(connection, definition.pipeline)
        now = await schedules.database_now(connection)
        if not await schedules.update(connection, new_row(definition, now)):
            raise await _refusal(connection, definition.name, "changed")
        view = await show(connection, definition.name)
        await tell_steered(connection, touched=("schedule", definition.name))
    _tell(app, definition.name, "update", by)
    return view


async def delete(app: "Penstock", name: str, *, by: str) -> None:
    """The tasks it fired stay."""
    async with app.connection() as connection:
        if not await schedules.delete(connection, name):
            raise await _refusal(connection, name, "deleted")
        await tell_steered(connection, touched=("schedule", name))
    _tell(app, name, "delete", by)


async def pause(app: "Penstock", name: str, *, by: str) -> ScheduleView:
    async with app.connection() as connection:
        if not await schedules.pause(connection, name, by):
            raise await not_known(connection, name)
        view = await show(connection, name)
        await tell_steered(connection, touched=("schedule", name))
    _tell(app, name, "pause", by)
    return view


async def resume(app: "Penstock", name: str, *, by: str) -> ScheduleView:
    """Goes on with the next time from now: what passed during the pause was not wanted."""
    async with app.connection() as connection:
        paused = (await show(connection, name)).schedule
        await schedules.resume(connection, name, next_fire(times_of(paused), paused.read_at))
        view = await show(connection, name)
        await tell_steered(connection, touched=("schedule", name))
    _tell(app, name, "resume", by)
    return view


async def fire_now(app: "Penstock", name: str, *, by: str) -> int:
    """Enqueues the schedule's task once more, paused or not; its next time stays. Returns the task."""
    async with app.connection() as connection:
        task_id = await schedules.fire_now(connection, name)
        if task_id is None:
            raise await not_known(connection, name)
        await tell_steered(connection, touched=("schedule", name))
    app.events.emit("schedules.steered", schedule=name, move="fire", by=by, tasks=[task_id])
    return task_id


def _tell(app: "Penstock", name: str, move: str, by: str) -> None:
    app.events.emit("schedules.steered", schedule=name, move=move, by=by)


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
