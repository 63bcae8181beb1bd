"""Tasks as people see them: pages of them, and everything about one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.core.app import App
from penstock.errors import JobNotFound, TaskNotFound, UnknownTask
from penstock.lifecycle import State
from penstock.storage import checkpoints, jobs, reads, tasks
from penstock.storage.reads import Place, TaskFilter, TaskPage, TaskRow

__all__ = [
    "Place",
    "TaskDetails",
    "TaskEvent",
    "TaskFilter",
    "TaskPage",
    "TaskRow",
    "now",
    "page",
    "require_pipeline",
    "show",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """A run that did not end the task, or another event of its history. ``burned``: it counts as an attempt."""

    at: datetime
    lease: int
    worker: int | None
    stage: int
    run: int
    attempt: int
    burned: bool
    cause: str
    error: Any
    next_run_at: datetime | None
    stage_name: str | None
    worker_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """Of a finished stage. ``result``: JSON; ``reused_from``: the run that made it, where this one did not."""

    stage: int
    name: str
    run: int
    version: str | None
    reused_from: int | None
    result: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetails:
    """Everything that is stored about a task. ``worker_name``: who runs it, or ran it last."""

    task_id: int
    job_id: int | None
    owner: str | None
    pipeline: str
    stage: str
    state: State
    attempts: int
    max_attempts: int | None
    run: int
    lease: int | None
    worker: int | None
    run_at: datetime | None
    updated_at: datetime
    created_at: datetime
    result: Any
    error: Any
    input: Any
    idempotency_key: str | None
    options: Any
    trace: str | None
    replaces: int | None
    worker_name: str | None
    history: tuple[TaskEvent, ...]
    checkpoints: tuple[StageResult, ...]


async def page(app: App, wanted: TaskFilter, *, after: Place | None = None, limit: int = 50) -> TaskPage:
    """A name or a job that does not exist is told: it would match nothing and look like an empty list."""
    await require_pipeline(app, wanted.pipeline)
    async with app.connection() as connection:
        if wanted.job_id is not None and await jobs.get(connection, wanted.job_id) is None:
            raise JobNotFound(wanted.job_id)
        return await reads.task_page(connection, wanted, after=after, limit=limit)


async def show(app: App, task_id: int) -> TaskDetails:
    """With the history of its runs and the results of its finished stages."""
    async with app.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        task = await tasks.get(connection, task_id)
        if task is None:
            raise TaskNotFound(task_id)
        events = await tasks.history(connection, task_id)
        results = await checkpoints.of_task(connection, task_id)
    return TaskDetails(
        **task | {"state": State[task["state"]]},
        history=tuple(TaskEvent(**one) for one in events),
        checkpoints=tuple(StageResult(**one) for one in results),
    )


async def now(app: App) -> datetime:
    """The database's time: ages are told by it."""
    async with app.connection() as connection:
        return await jobs.database_now(connection)


async def require_pipeline(app: App, pipeline: str | None) -> None:
    """A mistyped name would match nothing and look like success."""
    if pipeline is None:
        return
    async with app.connection() as connection:
        known = await reads.pipelines(connection)
    if pipeline not in known:
        raise UnknownTask(pipeline, known)
