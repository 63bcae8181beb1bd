"""`/api/stages`: load, rates and limits of every stage, and what operators do with one."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path
from pydantic import Field

from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import visible_tasks
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, Text
from penstock.console.http.problems import documented, not_found
from penstock.console.http.routes.workers import Processor, StageDecision, processor_of
from penstock.console.http.wire import Wire
from penstock.control import stages
from penstock.insight.overview import of_stage, overview
from penstock.insight.stage_views import StageView

router = APIRouter(prefix="/api/stages", tags=["operations"], responses=documented())

# Names may hold slashes; whichever way the path is split, the two parts joined again are the stage.
Pipeline = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
Stage = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
_ONE = "/{pipeline:path}/{stage:path}"


async def _label(pipeline: Pipeline, stage: Stage) -> str:
    return f"{pipeline}/{stage}"


Label = Annotated[str, Depends(_label)]


class Retry(Wire):
    base_seconds: float
    factor: float
    cap_seconds: float


class StagePolicy(Wire):
    """As the code declares it; null: what the worker's settings say. `order`: lower ones are served first, and null
    means the place in the pipeline. `batch`: most rows of a claim. `throttle`: most starts per coordination cycle."""

    execution: str | None = None
    pool: int | None = None
    order: int | None = None
    batch: int | None = None
    throttle: int | None = None
    timeout_seconds: float | None = None
    retry: Retry | None = None
    version: str | None = None


class StageItem(Wire):
    """``processors`` by state and ``workers`` are as of the last heartbeats; arrivals and endings per second are of the
    last minute. `meanRunSeconds`, `successRate` (DONE or moved on), `failureRate` (ERROR) and retries are of the last
    hour; null: nothing was measured. `transport`: postgres, redis or rabbitmq, by its live workers; by the settings of
    the service where `transportConfiguredHere`. `brokerBypassed`: it is claimed from PostgreSQL meanwhile, as nothing
    came or the broker is away (`brokerAwaySeconds`). `inBroker`: waiting ones a broker was told of. `etaCause`: what
    sets the pace, or why nothing moves. `heldUpBy`: the key of the limit that sent one of its items back in the last
    minute. The 95th percentiles are of the last hour."""

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
    eta_cause: str | None
    held_up_by: str | None
    failed_last_hour: int
    mean_run_seconds: float | None
    mean_run_seconds_last_minute: float | None
    run_p95_seconds: float | None
    wait_p95_seconds: float | None
    success_rate: float | None
    failure_rate: float | None
    runs_last_hour: int
    retries_last_hour: int
    max_attempts: int
    policy: StagePolicy
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    transport: str | None
    transport_configured_here: bool
    broker_bypassed: bool
    broker_away_seconds: float
    in_broker: int


class StageList(Wire):
    items: list[StageItem]
    read_at: datetime


class WorkerDecision(StageDecision):
    worker: str


class StageDetail(StageItem):
    """`atWork` is bounded per worker; those in error and those that have run longest come first. `decisions`: how much
    each live worker claims of it, and why."""

    at_work: list[Processor]
    decisions: list[WorkerDecision]
    read_at: datetime


class PauseRequest(Wire):
    reason: Text | None = Field(None, description="Shown to whoever asks why nothing moves.")


class StageLimit(Wire):
    max_running: Annotated[int, Field(ge=1, le=stages.LARGEST_LIMIT), COUNTED] | None = Field(
        description="At most so many at a time in the whole fleet; null: no limit."
    )


@router.get("", operation_id="listStages")
async def listing(ground: Here, actor: Viewer) -> StageList:
    """Every stage with its load, rates and limits."""
    async with ground.app.connection() as connection:
        seen = await overview(connection, ground.settings)
    return StageList(items=[item_of(view) for view in seen.stages], read_at=seen.read_at)


@router.get(_ONE, operation_id="getStage")
async def show(ground: Here, actor: Viewer, label: Label) -> StageDetail:
    """One stage with its policy, and its processors that are busy or in error, by name."""
    async with ground.app.connection() as connection:
        seen = await overview(connection, ground.settings)
        view, busy = of_stage(seen, label)
        visible = await visible_tasks(connection, actor, [one.task_id for _, one in busy])
    at_work = [processor_of(worker, one, visible) for worker, one in busy]
    decisions = [
        WorkerDecision.model_validate({**told, "worker": worker.name})
        for worker in seen.workers
        if (told := worker.decisions.get(view.label)) is not None
    ]
    return StageDetail.from_record(view, **_fields(view), at_work=at_work, decisions=decisions, read_at=seen.read_at)


@router.post(f"{_ONE}/pause", operation_id="pauseStage")
async def pause(
    ground: Here, actor: Operator, label: Label, body: Annotated[PauseRequest | None, Body()] = None
) -> StageItem:
    """Nothing more of it is started; what runs goes on to its end."""
    reason = body.reason if body else None
    await stages.pause(ground.app, label, by=actor.name, reason=reason)
    return await _changed(ground, actor, "stage.pause", label, reason=reason)


@router.post(f"{_ONE}/resume", operation_id="resumeStage")
async def resume(ground: Here, actor: Operator, label: Label) -> StageItem:
    """Go on after a pause."""
    await stages.resume(ground.app, label, by=actor.name)
    return await _changed(ground, actor, "stage.resume", label)


@router.patch(f"{_ONE}/limit", operation_id="limitStage")
async def limit(ground: Here, actor: Operator, label: Label, body: StageLimit) -> StageItem:
    """An exact fleet-wide limit. The code's own one comes back when its application registers again."""
    await stages.limit(ground.app, label, body.max_running, by=actor.name)
    return await _changed(ground, actor, "stage.limit", label, max_running=body.max_running)


async def _changed(ground: Ground, actor: Actor, action: str, label: str, **details: Any) -> StageItem:
    await ground.note(actor.entry(action, kind="stage", object=label, **details))
    async with ground.app.connection() as connection:
        seen = await overview(connection, ground.settings)
    for view in seen.stages:
        if f"{view.pipeline}/{view.stage}" == label:
            return item_of(view)
    raise not_found(f"stage {label!r}")


def item_of(view: StageView) -> StageItem:
    return StageItem.from_record(view, **_fields(view))


def _fields(view: StageView) -> dict[str, Any]:
    """A policy may come from a newer or older Penstock: what is not known here is left out."""
    return {
        "policy": {name: value for name, value in view.policy.items() if name in StagePolicy.model_fields},
        "transport_configured_here": view.told_by.configured_here,
        "broker_bypassed": view.told_by.bypassed,
        "broker_away_seconds": view.told_by.away_seconds,
    }
