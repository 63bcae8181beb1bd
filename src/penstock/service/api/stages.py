"""`/api/stages`: load, rates and limits of every stage, and what operators do with one."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from pydantic import Field

from penstock.engine.overview import StageView, overview
from penstock.engine.steering import stages
from penstock.service.actor import Actor, Operator, Viewer
from penstock.service.ground import Ground, ground_of
from penstock.service.parameters import COUNTED, LONGEST_NAME, STORABLE, Text
from penstock.service.problems import documented, not_found
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/stages", tags=["operations"], responses=documented())

# Names may hold slashes; whichever way the path is split, the two parts joined again are the stage.
Pipeline = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
Stage = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
_ONE = "/{pipeline:path}/{stage:path}"


class StageItem(Wire):
    """``processors`` by state and ``workers`` are as of the last heartbeats; rates are of the last minute."""

    pipeline: str
    stage: str
    waiting: int
    running: int
    max_running: int | None
    workers: int
    processors: dict[str, int]
    oldest_wait_seconds: float | None
    arrived_per_second: float
    ended_per_second: float
    eta_seconds: float | None
    failed_last_hour: int
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None


class StageList(Wire):
    items: list[StageItem]
    read_at: datetime


class PauseRequest(Wire):
    reason: Text | None = Field(None, description="Shown to whoever asks why nothing moves.")


class StageLimit(Wire):
    max_running: Annotated[int, Field(ge=1, le=stages.LARGEST_LIMIT), COUNTED] | None = Field(
        description="At most so many at a time in the whole fleet; null: no limit."
    )


@router.get("", operation_id="listStages")
async def listing(request: Request, actor: Viewer) -> StageList:
    """Every stage with its load, rates and limits."""
    async with ground_of(request).app.connection() as connection:
        seen = await overview(connection)
    return StageList(items=[item_of(view) for view in seen.stages], read_at=seen.read_at)


@router.post(f"{_ONE}/pause", operation_id="pauseStage")
async def pause(
    request: Request,
    actor: Operator,
    pipeline: Pipeline,
    stage: Stage,
    body: Annotated[PauseRequest | None, Body()] = None,
) -> StageItem:
    """Nothing more of it is started; what runs goes on to its end."""
    ground, label, reason = ground_of(request), f"{pipeline}/{stage}", body.reason if body else None
    await stages.pause(ground.app, label, by=actor.name, reason=reason)
    return await _changed(ground, actor, "stage.pause", label, reason=reason)


@router.post(f"{_ONE}/resume", operation_id="resumeStage")
async def resume(request: Request, actor: Operator, pipeline: Pipeline, stage: Stage) -> StageItem:
    """Go on after a pause."""
    ground, label = ground_of(request), f"{pipeline}/{stage}"
    await stages.resume(ground.app, label, by=actor.name)
    return await _changed(ground, actor, "stage.resume", label)


@router.patch(f"{_ONE}/limit", operation_id="limitStage")
async def limit(request: Request, actor: Operator, pipeline: Pipeline, stage: Stage, body: StageLimit) -> StageItem:
    """An exact fleet-wide limit. The code's own one comes back when its application registers again."""
    ground, label = ground_of(request), f"{pipeline}/{stage}"
    await stages.limit(ground.app, label, body.max_running, by=actor.name)
    return await _changed(ground, actor, "stage.limit", label, max_running=body.max_running)


async def _changed(ground: Ground, actor: Actor, action: str, label: str, **details: Any) -> StageItem:
    await ground.note(actor.entry(action, kind="stage", object=label, **details))
    async with ground.app.connection() as connection:
        seen = await overview(connection)
    for view in seen.stages:
        if f"{view.pipeline}/{view.stage}" == label:
            return item_of(view)
    raise not_found(f"stage {label!r}")


def item_of(view: StageView) -> StageItem:
    return StageItem.model_validate(asdict(view))
