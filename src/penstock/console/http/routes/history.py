"""`/api/history`: how the last hours went, for charts."""

from typing import Annotated

from fastapi import APIRouter, Query

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.parameters import Name
from penstock.console.http.problems import Problem, documented
from penstock.insight.history import LONGEST_MINUTES, HistoryView, history

router = APIRouter(prefix="/api/history", tags=["operations"], responses=documented(400, 404))


@router.get("", operation_id="getHistory")
async def show(
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
