"""Tasks as people see them: pages of them, and everything about one."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import JobNotFound, TaskNotFound, UnknownTask
from penstock.storage import checkpoints, dead_letters, jobs, reads, tasks
from penstock.storage.reads import Page, Place, TaskFilter

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

__all__ = ["Page", "Place", "TaskFilter", "now", "page", "require_pipeline", "show"]


async def page(app: "Penstock", wanted: TaskFilter, *, after: Place | None = None, limit: int = 50) -> Page:
    """A name or a job that does not exist is told: it would match nothing and look like an empty list."""
    await require_pipeline(app, wanted.pipeline)
    async with app.connection() as connection:
        if wanted.job_id is not None and await jobs.get(connection, wanted.job_id) is None:
            raise JobNotFound(wanted.job_id)
        return await reads.task_page(connection, wanted, after=after, limit=limit)


async def show(app: "Penstock", task_id: int) -> dict[str, Any]:
    """Everything stored about it, with the history of its runs and the results of its finished stages."""
    async with app.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        task = await tasks.get(connection, task_id)
        if task is None:
            raise TaskNotFound(task_id)
        task["history"] = await tasks.history(connection, task_id)
        task["checkpoints"] = await checkpoints.of_task(connection, task_id)
    return task


async def now(app: "Penstock") -> datetime:
    """The database's time: ages are told by it."""
    async with app.connection() as connection:
        return await dead_letters.database_now(connection)


async def require_pipeline(app: "Penstock", pipeline: str | None) -> None:
    """A mistyped name would match nothing and look like success."""
    if pipeline is None:
        return
    async with app.connection() as connection:
        known = await reads.pipelines(connection)
    if pipeline not in known:
        raise UnknownTask(pipeline, known)
