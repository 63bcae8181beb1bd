"""`/api/workers`: the processes that do the work."""

from dataclasses import asdict
from datetime import datetime

from fastapi import APIRouter, Request

from penstock.engine.overview import WorkerView, overview
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


class WorkerItem(Wire):
    """``running``: handlers that had started at the last heartbeat, ``silentSeconds`` ago."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    started_at: datetime
    silent_seconds: float
    running: int
    busy: int
    processors: int
    stages: int
    decisions: dict[str, StageDecision]


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
    return WorkerItem.model_validate(asdict(view))
