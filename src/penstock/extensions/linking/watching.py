"""``linking.watch``: one per run, for what dying processes leave behind.

Every step of a run hands over to the next one after its commit, which takes milliseconds; a process that dies in
between leaves work that nobody would take up. The watch asks the same questions every few seconds until the run ends.

Where the watch itself is gone (somebody cancelled the job instead of the project, or it ran out of attempts), whoever
looks at the project next, or starts it, finds the run without a task and ends it, so that no project waits for ever.
"""

from typing import Any

from penstock import Context, Skip, Snooze
from penstock.errors import DatabaseError, PenstockError, StaleLease
from penstock.extensions.linking import cache, fetching, projects, records, standing
from penstock.extensions.linking.record import UNDER_WAY, RecordState
from penstock.extensions.linking.searching import GONE
from penstock.extensions.linking.shared import RecordLinking

EVERY_SECONDS = 2.0
LATER_SECONDS = 10.0
NO_ANSWER = "the search for it ended without an answer; match the failed records again"
NO_SCORE = "it was not scored, although its candidates are there; match the failed records again"
NOBODY = "nothing worked on it any more: the tasks of its run are gone; match the failed records again"


async def watch(linking: RecordLinking, ctx: Context, project_id: int, run: int) -> Any:
    """Goes on whatever happens: records wait for the run to end, and nobody else would end it."""
    try:
        return await _watch(linking, project_id, run)
    except (DatabaseError, StaleLease):
        raise
    except PenstockError as error:
        return Snooze(LATER_SECONDS, f"it looks again later: {error}")


async def _watch(linking: RecordLinking, project_id: int, run: int) -> Any:
    async with linking.app.connection() as connection:
        project = await projects.get(connection, project_id)
        if project is None or project.run != run or project.job_id is None:
            return Skip(GONE)
        if project.ended_at is not None:
            return None
        await cache.free_lost(connection, project.source)
        left = await standing.left_of_job(connection, project.job_id)
    await fetching.divide_dead(linking, project.source, project_id, run)
    await linking.batching.ask(project.source)
    if not left.searches:
        await _look_after(linking, project_id, run, project.job_id)
    async with linking.app.connection() as connection:
        ended = await projects.end_run(connection, project_id, run)
    return None if ended else Snooze(EVERY_SECONDS, "the run goes on")


async def _look_after(linking: RecordLinking, project_id: int, run: int, job_id: int) -> None:
    """No search is left: whatever still waits for one waits in vain, and what is complete is scored."""
    async with linking.app.connection() as connection, connection.transaction():
        if await projects.hold(connection, project_id, run) is None:
            return
        await records.fail_left(connection, project_id, run, [RecordState.QUEUED], NO_ANSWER)
        # Checked in the order in which work moves, so that a task that moves on meanwhile is seen at the next place.
        left = await standing.left_of_job(connection, job_id)
        ready = await records.ready_by_group(connection, project_id, run)
        made = await fetching.hand_over(linking, connection, ready)
        scoring = await standing.left_of_job(connection, job_id)
        if not (left.fetches or left.wanted or made or scoring.scores):
            await records.fail_left(connection, project_id, run, UNDER_WAY, NO_SCORE)


async def settle(linking: RecordLinking, project_id: int) -> bool:
    """True: there was such a run. Of a cancelled job the records are CANCELLED, otherwise they are in ERROR."""
    async with linking.app.connection() as connection:
        if not await standing.abandoned(connection, project_id):
            return False
        async with connection.transaction():
            project = await projects.get(connection, project_id, for_update=True)
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
