"""`/api/workers`: the processes that do the work."""

from datetime import datetime

from fastapi import APIRouter

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.ownership import visible_tasks
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.insight.overview import overview
from penstock.insight.worker_views import ProcessorView, WorkerView

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


class Processor(Wire):
    """One that is not idle, as of its worker's last heartbeat. `error`: past its deadline or asked to stop, and still
    holding its task. `taskId` is null where the task is somebody else's."""

    name: str
    stage: str
    state: str
    task_id: int | None
    since: datetime
    worker: str


class WorkerItem(Wire):
    """``running``: handlers that had started at the last heartbeat, ``silentSeconds`` ago. `busy` and `error`: its
    processors in these states. `health`: null before its first look. `late`: half of its lease has passed without a
    heartbeat; at its end it counts as dead. `memoryBytes`: of its own process, without children."""

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
    memory_bytes: int | None
    late: bool


class WorkerDetail(WorkerItem):
    """`atWork`: what it runs, bounded; those in error and those that have run longest come first."""

    at_work: list[Processor]


class WorkerList(Wire):
    items: list[WorkerDetail]
    read_at: datetime


@router.get("", operation_id="listWorkers")
async def listing(ground: Here, actor: Viewer) -> WorkerList:
    """Every worker that lives."""
    async with ground.app.connection() as connection:
        seen = await overview(connection)
        visible = await visible_tasks(connection, actor, [one.task_id for view in seen.workers for one in view.at_work])
    items = [
        WorkerDetail.from_record(view, at_work=[processor_of(view, one, visible) for one in view.at_work])
        for view in seen.workers
    ]
    return WorkerList(items=items, read_at=seen.read_at)


def processor_of(worker: WorkerView, one: ProcessorView, visible: set[int]) -> Processor:
    return Processor.from_record(one, task_id=one.task_id if one.task_id in visible else None, worker=worker.name)
