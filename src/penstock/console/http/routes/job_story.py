"""`/api/jobs/{jobId}/timeline`, `/slice` and the neighbours of an item: how a job went, and goes."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.ownership import look_at_job
from penstock.console.http.problems import documented, not_found
from penstock.console.http.routes.items import Statuses
from penstock.console.http.wire import MOST_ID, JobId, Wire
from penstock.insight import items as engine_items
from penstock.insight import job_story
from penstock.storage.items import ItemsWanted

router = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=documented())

ItemId = Annotated[int, Path(alias="itemId", ge=1, le=MOST_ID)]
What = Literal[
    "created",
    "stored",
    "import_failed",
    "first_ended",
    "paused",
    "resumed",
    "cancelled",
    "run_again",
    "exported",
    "kicked_off",
    "called_back",
    "done",
    "failed",
]


class JobEvent(Wire):
    """`by` is null where nobody did it but the work itself."""

    at: datetime
    what: What
    by: str | None
    detail: str | None


class JobMinute(Wire):
    minute: datetime
    done: int
    failed: int


class JobTimeline(Wire):
    """`minutes`: endings per minute that still stand, an item that is run again leaves its minute; minutes without any
    are left out. They are not kept for all time: before `countedSince` nothing was counted, null: all were.
    `complete`: whether all deeds are there; older ones are in the audit log."""

    events: list[JobEvent]
    complete: bool
    minutes: list[JobMinute]
    counted_since: datetime | None
    read_at: datetime


class SliceWorker(Wire):
    """As of its last heartbeat. `size`: how many it holds claimed at most, and `reason` why; null: nothing claimed
    yet. `ewmaMs`: how long one takes, the newest weigh most. The factors are below 1 while something shrinks claims."""

    worker: str
    size: int | None
    reason: str | None
    ewma_ms: float | None
    processors: int
    inbox: int
    cpu_factor: float
    memory_factor: float
    errors_factor: float
    silent_seconds: float


class SliceStage(Wire):
    """`batch`: most rows of one claim, by the code; null: as the settings say."""

    stage: str
    sentence: str
    batch: int | None
    throttle: int | None
    max_running: int | None
    workers: list[SliceWorker]


class JobSlice(Wire):
    """`targetMs`, `safety`, `claimMin` and `claimMax` are the settings of the service; a worker that was started with
    others decides by its own."""

    target_ms: int
    safety: float
    claim_min: int
    claim_max: int
    stages: list[SliceStage] = Field(description="In the order of the pipeline.")


class Neighbours(Wire):
    """Items next to one in a list; null at its ends."""

    previous: int | None
    next: int | None


@router.get("/{jobId}/timeline", operation_id="getJobTimeline")
async def timeline(ground: Here, actor: Viewer, job_id: JobId) -> JobTimeline:
    """What happened to it and when, oldest first, and how many of its items ended in each minute."""
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        found = await job_story.timeline(connection, job_id)
    return JobTimeline.from_record(found)


@router.get("/{jobId}/slice", operation_id="getJobSlice")
async def slice_now(ground: Here, actor: Viewer, job_id: JobId) -> JobSlice:
    """Why workers claim as much of its stages at one time as they do now."""
    await look_at_job(ground, actor, job_id)
    settings = ground.settings
    async with ground.app.connection() as connection:
        found = await job_story.slices(connection, job_id, settings)
    return JobSlice.from_record(
        settings, target_ms=settings.worker_target_slice_ms, safety=settings.safety_factor, stages=found
    )


@router.get("/{jobId}/items/{itemId}/neighbours", operation_id="getNeighbours")
async def neighbours(
    ground: Here,
    actor: Viewer,
    job_id: JobId,
    item_id: ItemId,
    statuses: Statuses = None,
    sort: Annotated[Literal["-updatedAt", "row"], Query(description="`row`: as in the file, in all statuses.")] = "row",
) -> Neighbours:
    """Which items come before and after it in a list like that of `GET /api/jobs/{jobId}/items`."""
    await look_at_job(ground, actor, job_id)
    states = engine_items.states(statuses)
    async with ground.app.connection() as connection:
        item = await engine_items.one(connection, item_id)
        if item is None or item.job_id != job_id:
            raise not_found(f"item {item_id} in job {job_id}")
        wanted = ItemsWanted(jobs=[job_id], states=states)
        place = await engine_items.place_of(connection, item, sort)
        after = await engine_items.page(connection, wanted, sort=sort, after=place, limit=1)
        before = await engine_items.page(connection, wanted, sort=sort, before=place, limit=1)
    return Neighbours(
        previous=before.items[0].id if before.items else None, next=after.items[0].id if after.items else None
    )
