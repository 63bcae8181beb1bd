"""Ends runs that nothing works on any more, so that no project waits for ever.

A run is looked after by its watch. Where that is gone (somebody cancelled the job instead of the project, or the watch
ran out of attempts), whoever looks at the project next, or starts it, finds the run without a task and ends it.
"""

from penstock.extensions.linking import cache, projects, records, standing
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.states import UNDER_WAY

NOBODY = "nothing worked on it any more: the tasks of its run are gone; match the failed records again"


async def settle(linking: RecordLinking, project_id: int) -> bool:
    """True: there was such a run. Of a cancelled job the records are CANCELLED, otherwise they are in ERROR."""
    async with linking.app.connection() as connection:
        if not await standing.abandoned(connection, project_id):
            return False
        async with connection.transaction():
            project = await projects.get_for_update(connection, project_id)
            # Looked at again, now that nobody can start a run.
            if project is None or project.job_id is None or not await standing.abandoned(connection, project_id):
                return False
            if await standing.cancelled(connection, project.job_id):
                await projects.cancel_run(connection, project_id)
                await records.cancel_left(connection, project_id)
            else:
                await records.fail_left(connection, project_id, project.run, UNDER_WAY, NOBODY)
                await projects.end_run(connection, project_id, project.run)
        await cache.free_lost(connection, project.source)
    return True


async def settle_all(linking: RecordLinking) -> int:
    """For upkeep: also of projects that nobody looks at."""
    async with linking.app.connection() as connection:
        found = await standing.abandoned(connection)
    return sum([await settle(linking, project_id) for project_id in found])
