"""`/api/history`: how the last hours went, for charts."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request

from penstock.engine.history import LONGEST_MINUTES, history
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.parameters import Name
from penstock.service.problems import Problem, documented
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/history", tags=["operations"], responses=documented(400, 404))


class HistoryPoint(Wire):
    """One step. `enqueued`: arrived at the stage, or new items where several stages are asked for; `done` of one stage
    includes what moved on to the next. `endedOtherwise`: not found, skipped, cancelled. `retried`: runs that were tried
    again. `waiting`, `running` and `oldestWaitSeconds` are the highest that were seen in the step, null where nobody
    looked. Means and 95th percentiles are null where nothing was measured; a percentile is off by less than a fifth."""

    at: datetime
    enqueued: int
    done: int
    failed: int
    ended_otherwise: int
    retried: int
    waiting: int | None
    running: int | None
    oldest_wait_seconds: float | None
    wait_mean_seconds: float | None
    wait_p95_seconds: float | None
    run_mean_seconds: float | None
    run_p95_seconds: float | None


class HistoryView(Wire):
    """Points rise in time, without a gap; the last one is still growing. They are wider than a minute where there would
    be more than 120."""

    step_minutes: int
    points: list[HistoryPoint]


@router.get("", operation_id="getHistory")
async def show(
    request: Request,
    actor: Viewer,
    minutes: Annotated[int, Query(ge=1, le=LONGEST_MINUTES, description="How far back.")] = 60,
    pipeline: Annotated[Name | None, Query(description="Only this pipeline.")] = None,
    stage: Annotated[Name | None, Query(description="Only this stage of `pipeline`.")] = None,
) -> HistoryView:
    """Movements, backlog and times of the last minutes, from statistics that are kept; no item is looked at."""
    if stage is not None and pipeline is None:
        raise Problem(400, f"Stage {stage!r} of which pipeline? Send `pipeline` too.")
    async with ground_of(request).app.connection() as connection:
        found = await history(connection, minutes=minutes, pipeline=pipeline, stage=stage)
    return HistoryView(
        step_minutes=found.step_minutes,
        points=[HistoryPoint.model_validate(asdict(point)) for point in found.points],
    )
