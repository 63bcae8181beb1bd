"""Deletes projects: at once for everybody who looks or writes, little by little in the tables."""

from collections.abc import Sequence
from contextlib import suppress

from penstock import IllegalMove
from penstock.control import jobs as job_steering
from penstock.errors import JobNotFound, UsageError
from penstock.extensions.linking import cache, projects
from penstock.extensions.linking.shared import RecordLinking

_BATCH = 1000
_PROJECTS = 20
_UPKEEP = "upkeep"


async def delete(linking: RecordLinking, project_id: int, by: str) -> None:
    """The mark waits for tasks that are writing and turns away those that come later; then the jobs go, then the rows.
    Where this process dies in between, upkeep goes on."""
    app = linking.app
    async with app.connection() as connection:
        project = await projects.require(connection, project_id)
        job_ids = await projects.mark_deleted(connection, project_id)
    await _delete_jobs(linking, job_ids, by)
    async with app.connection() as connection:
        await cache.free_lost(connection, project.source)
    await _remove(linking, project_id)
    app.events.emit("linking.deleted", project=project_id, by=by)


async def remove_deleted(linking: RecordLinking) -> int:
    """What deletes left behind whose process died; returns how many projects. The row of a project names its jobs, so
    it goes last."""
    async with linking.app.connection() as connection:
        marked = await projects.deleted(connection, _PROJECTS)
    for project_id, job_ids in marked.items():
        await _delete_jobs(linking, job_ids, _UPKEEP)
        await _remove(linking, project_id)
    return len(marked)


async def _delete_jobs(linking: RecordLinking, job_ids: Sequence[int], by: str) -> None:
    """Those that are gone already, by an earlier try or by somebody's hand, are no fault."""
    for job_id in job_ids:
        with suppress(IllegalMove, JobNotFound, UsageError):
            await job_steering.delete(linking.app, job_id, by=by)


async def _remove(linking: RecordLinking, project_id: int) -> None:
    while True:
        async with linking.app.connection() as connection:
            if not await projects.remove_records(connection, project_id, _BATCH):
                await projects.remove(connection, project_id)
                return
