"""`/api/schedules`: what fires when, and pausing, resuming and firing one by hand."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path

from penstock.console.http.actor import Operator, Viewer
from penstock.console.http.ground import Here
from penstock.console.http.parameters import LONGEST_NAME, STORABLE
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.control import schedules
from penstock.schedules import scheduling
from penstock.schedules.fire_times import in_words
from penstock.schedules.scheduling import ScheduleView

router = APIRouter(prefix="/api/schedules", tags=["operations"], responses=documented())

# The name of a task with slashes is a good name of a schedule.
ScheduleName = Annotated[str, Path(alias="name", min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
_ONE = "/{name:path}"


class ScheduleItem(Wire):
    """``upcoming`` is empty while it is paused or stopped; ``lastError`` says what went wrong last, ``words`` is
    ``cron`` in English."""

    name: str
    cron: str
    words: str
    timezone: str
    pipeline: str
    missed: str
    declared: bool
    source: str | None
    paused_at: datetime | None
    paused_by: str | None
    last_fire_at: datetime | None
    next_fire_at: datetime | None
    last_item_id: int | None
    last_error: str | None
    upcoming: list[datetime]


class ScheduleList(Wire):
    items: list[ScheduleItem]


class Fired(Wire):
    name: str
    item_id: int


@router.get("", operation_id="listSchedules")
async def listing(ground: Here, actor: Viewer) -> ScheduleList:
    """Every schedule with its next times."""
    async with ground.app.connection() as connection:
        views = await scheduling.listing(connection)
    return ScheduleList(items=[_item(view) for view in views])


@router.post(f"{_ONE}/pause", operation_id="pauseSchedule")
async def pause(ground: Here, actor: Operator, name: ScheduleName) -> ScheduleItem:
    """It does not fire until it is resumed; times that pass meanwhile are gone."""
    view = await schedules.pause(ground.app, name, by=actor.name)
    await ground.note(actor.entry("schedule.pause", kind="schedule", object=name))
    return _item(view)


@router.post(f"{_ONE}/resume", operation_id="resumeSchedule")
async def resume(ground: Here, actor: Operator, name: ScheduleName) -> ScheduleItem:
    """Go on with the next time from now."""
    view = await schedules.resume(ground.app, name, by=actor.name)
    await ground.note(actor.entry("schedule.resume", kind="schedule", object=name))
    return _item(view)


@router.post(f"{_ONE}/fire", operation_id="fireSchedule")
async def fire(ground: Here, actor: Operator, name: ScheduleName) -> Fired:
    """Enqueue its task once, now; the next time stays."""
    task_id = await schedules.fire_now(ground.app, name, by=actor.name)
    await ground.note(actor.entry("schedule.fire", kind="schedule", object=name, task_id=task_id))
    return Fired(name=name, item_id=task_id)


def _item(view: ScheduleView) -> ScheduleItem:
    row = view.schedule
    return ScheduleItem.from_record(
        row, words=in_words(row.cron), last_item_id=row.last_task_id, upcoming=view.upcoming
    )
