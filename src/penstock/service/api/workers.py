"""`/api/workers`: the processes that do the work."""

from dataclasses import asdict
from datetime import datetime

from fastapi import APIRouter, Request

from penstock.engine.overview import overview
from penstock.engine.worker_views import WorkerView
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.problems import documented
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/workers", tags=["operations"], responses=documented())


class Claim(Wire):
    size: int
    reason: str


class StageDecision(Wire):
    """Why it claims as much as it does: see `docs/adaptation.md`. Null: not asked yet."""

    claim: Claim | None
    inbox: int | None
    ewma_ms: float | None
    cpu_factor: float | None
    memory_factor: float | None
    errors_factor: float | None
    retry_spacing: float | None


class HealthReport(Wire):
    """A worker's last look at itself. `problems` are sentences, none when all is well."""

    at: datetime
    stuck_processors: int
    stuck_rows: int
    woken: int
    seconds_since_poll: float
    problems: list[str]


class WorkerItem(Wire):
    """``running``: handlers that had started at the last heartbeat, ``silentSeconds`` ago. `busy` and `error`: its
    processors in these states. `health`: null before its first look."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    started_at: datetime
    silent_seconds: float
    running: int
    busy: int
    error: int
    processors: int
    stages: int
    decisions: dict[str, StageDecision]
    health: HealthReport | None


class WorkerList(Wire):
    items: list[WorkerItem]
    read_at: datetime


@router.get("", operation_id="listWorkers")
async def listing(request: Request, actor: Viewer) -> WorkerList:
    """Every worker that lives."""
    async with ground_of(request).app.connection() as connection:
        seen = await overview(connection)
    return WorkerList(items=[item_of(view) for view in seen.workers], read_at=seen.read_at)


def item_of(view: WorkerView) -> WorkerItem:
    """Without what its processors run: that is with the stages, where tasks of others are left out."""
    fields = asdict(view)
    del fields["at_work"]
    return WorkerItem.model_validate(fields)
