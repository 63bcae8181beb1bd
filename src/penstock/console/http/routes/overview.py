"""`/api/overview`: one screen of the whole system. `/api/history`: how the last hours went, for charts."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.job_wire import JobBody, body_of
from penstock.console.http.parameters import Name
from penstock.console.http.problems import Problem, documented
from penstock.console.http.routes.dead_letters import DeadLetter
from penstock.console.http.routes.dead_letters import item_of as letter_of
from penstock.console.http.routes.stages import StageItem
from penstock.console.http.routes.stages import item_of as stage_of
from penstock.console.http.routes.workers import WorkerItem
from penstock.console.http.wire import Wire
from penstock.control import dead_letters
from penstock.insight import job_views
from penstock.insight.history import LONGEST_MINUTES, HistoryView, history
from penstock.insight.overview import Overview as Seen
from penstock.insight.overview import overview
from penstock.insight.stage_views import About
from penstock.storage import imports

router = APIRouter(prefix="/api", tags=["operations"], responses=documented())

_NEWEST = 5


class Attention(Wire):
    """Something a person should know, and what shows or ends it."""

    about: About
    sentence: str
    next_step: str
    pipeline: str | None
    stage: str | None


class Totals(Wire):
    """Of all stages together, from kept counters. `slots`: processors of all live workers, `busy` of them hold an item.
    Rates are of the last minute; failures and 95th percentiles of the last hour."""

    running: int
    waiting: int
    oldest_wait_seconds: float | None
    failed_last_hour: int
    arrived_per_second: float
    ended_per_second: float
    run_p95_seconds: float | None
    wait_p95_seconds: float | None
    busy: int
    slots: int


class Overview(Wire):
    read_at: datetime
    database: str
    size_bytes: int
    totals: Totals
    workers: list[WorkerItem]
    stages: list[StageItem]
    attention: list[Attention]
    newest_dead_letters: list[DeadLetter]
    newest_jobs: list[JobBody]


@router.get("/overview", operation_id="getOverview")
async def show(ground: Here, actor: Viewer) -> Overview:
    """Workers, stages, what needs attention; of the jobs and dead letters the newest of one's own."""
    async with ground.app.connection() as connection:
        seen = await overview(connection, ground.settings)
        newest = await job_views.page(connection, before=None, owner=actor.name, limit=_NEWEST)
        imported = await imports.get_many(connection, [job.id for job in newest])
    own = await dead_letters.page(ground.app, dead_letters.DeadLetterFilter(owner=actor.name), limit=_NEWEST)
    return Overview.from_record(
        seen,
        totals=_totals(seen),
        workers=[WorkerItem.from_record(view) for view in seen.workers],
        stages=[stage_of(view) for view in seen.stages],
        attention=[Attention.from_record(one) for one in seen.attention],
        newest_dead_letters=[letter_of(row) for row in own.rows],
        newest_jobs=[body_of(job, actor, imported.get(job.id), None) for job in newest],
    )


def _totals(seen: Seen) -> Totals:
    """Every step of a pipeline counts: an item of three stages arrives and ends three times."""
    return Totals(
        running=sum(one.running for one in seen.stages),
        waiting=sum(one.waiting for one in seen.stages),
        oldest_wait_seconds=max(
            (one.oldest_wait_seconds for one in seen.stages if one.oldest_wait_seconds is not None), default=None
        ),
        failed_last_hour=sum(one.failed_last_hour for one in seen.stages),
        arrived_per_second=sum(one.arrived_per_second for one in seen.stages),
        ended_per_second=sum(one.ended_per_second for one in seen.stages),
        run_p95_seconds=seen.run_p95_seconds,
        wait_p95_seconds=seen.wait_p95_seconds,
        busy=sum(one.busy + one.error for one in seen.workers),
        slots=sum(one.processors for one in seen.workers),
    )


@router.get("/history", operation_id="getHistory")
async def show_history(
    ground: Here,
    actor: Viewer,
    minutes: Annotated[int, Query(ge=1, le=LONGEST_MINUTES, description="How far back.")] = 60,
    pipeline: Annotated[Name | None, Query(description="Only this pipeline.")] = None,
    stage: Annotated[Name | None, Query(description="Only this stage of `pipeline`.")] = None,
) -> HistoryView:
    """Movements, backlog and times of the last minutes, from statistics that are kept; no item is looked at."""
    if stage is not None and pipeline is None:
        raise Problem(400, f"Stage {stage!r} of which pipeline? Send `pipeline` too.")
    async with ground.app.connection() as connection:
        return await history(connection, minutes=minutes, pipeline=pipeline, stage=stage)
