"""Projects that are deleted or cancelled while many work on them: nothing is written afterwards, nothing is left."""

import asyncio
import random
import time

import pytest

from penstock import Penstock, worker
from penstock.control import jobs as job_steering
from penstock.errors import DatabaseError
from penstock.extensions.linking import matching, progress, projects, saving
from penstock.extensions.linking.record import RecordState
from penstock.upkeep.duties import remove_deleted
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.wikidata_world import generated

_LEFT = {
    "records": "select count(*) from record_linking.records",
    "candidates": "select count(*) from record_linking.candidates",
    "projects": "select count(*) from record_linking.projects",
    "queue": "select count(*) from penstock.queue q join penstock.stages s on s.id = q.stage"
    " where s.pipeline like 'linking.%' and s.pipeline <> 'linking.forget'",
    "tasks": "select count(*) from penstock.tasks t join penstock.stages s on s.id = t.entry"
    " where s.pipeline like 'linking.%' and s.pipeline <> 'linking.forget'",
    "errors": "select count(*) from penstock.outcomes where status = 3",
}


async def _left(there: LinkingWorld) -> dict[str, int]:
    return {what: await there.value(query) for what, query in _LEFT.items()}


async def _nothing_left(there: LinkingWorld, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while any((left := await _left(there)).values()):
        assert time.monotonic() < end, left
        async with there.app.connection() as connection:
            await remove_deleted(connection)
        await asyncio.sleep(0.05)


@pytest.mark.timeout(900)
async def test_a_project_deleted_while_fifty_work_on_it_leaves_nothing(database_url: str) -> None:
    chance = random.Random(7)
    server = {"latency_seconds": 0.01}
    async with linking_world(database_url, generated(600), server=server, linking_concurrency=50) as there:
        names = sorted(there.server.world.names)[:400]
        async with worker(there.app):
            for number in range(8):
                project = await there.project([{"name": f"{name}{' ' * number}"} for name in names])
                async with there.app.connection() as connection:
                    await connection.execute("delete from record_linking.searches; delete from record_linking.entities")
                await there.start(project.id)
                wanted = chance.randrange(0, 350)
                await _under_way(there, project.id, wanted)
                await saving.delete(there.linking, project.id, OWNER)
                assert await there.read(project.id) is None
                await _nothing_left(there)


async def _under_way(there: LinkingWorld, project_id: int, wanted: int) -> None:
    """Until so many records are past their search, or the run has ended."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        counts = (await progress.read(there.linking, project_id)).counts
        if counts[RecordState.QUEUED] <= 400 - wanted:
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it does not move")


async def test_a_cancelled_run_writes_nothing_more_and_can_be_started_again(database_url: str) -> None:
    server = {"latency_seconds": 0.02}
    async with linking_world(database_url, generated(400), server=server, linking_concurrency=50) as there:
        project = await there.project([{"name": name} for name in sorted(there.server.world.names)[:300]])
        async with worker(there.app):
            await there.start(project.id)
            await _under_way(there, project.id, 150)
            cancelled = await matching.cancel(there.linking, project.id, OWNER)
            before = await there.counts(project.id)
            assert before["CANCELLED"] == cancelled > 0
            end = time.monotonic() + 60
            while await there.value(_LEFT["queue"]):
                assert time.monotonic() < end
                await asyncio.sleep(0.05)
            assert await there.counts(project.id) == before
            assert await matching.cancel(there.linking, project.id, OWNER) == 0
            again = await there.start(project.id, "new")
            assert again.records == cancelled
            while not (await there.read(project.id)).ended_at:  # type: ignore[union-attr]
                assert time.monotonic() < end + 60, await there.counts(project.id)
                await asyncio.sleep(0.05)
        counts = await there.counts(project.id)
        assert sum(counts.values()) == 300 and not {"CANCELLED", "QUEUED", "MATCHING", "ERROR"} & set(counts)


async def test_a_task_of_a_project_that_is_gone_is_skipped(database_url: str) -> None:
    async with linking_world(database_url, generated(10)) as there:
        project = await there.project([{"name": name} for name in sorted(there.server.world.names)[:5]])
        await there.start(project.id)
        async with there.app.connection() as connection:
            await projects.mark_deleted(connection, project.id)
        drained = await there.drain()
        assert {state.name: n for state, n in drained.ended.items()} == {"SKIPPED": 6}
        assert there.asked() == {}
        assert await saving.remove_deleted(there.linking) == 1
        assert await there.value("select count(*) from record_linking.records") == 0


async def test_a_delete_that_died_after_its_mark_is_ended_by_upkeep_with_its_jobs(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with linking_world(database_url, generated(20)) as there:
        names = sorted(there.server.world.names)
        project = await there.project([{"name": name} for name in names[:10]])
        await there.match(project.id)
        await matching.rerank(there.linking, project.id, OWNER)
        await there.start(project.id)
        delete, tried = job_steering.delete, []

        async def dying(app: Penstock, job_id: int, *, by: str) -> None:
            """The link breaks at the second of three jobs, and once more when upkeep tries."""
            tried.append(job_id)
            if len(tried) in (2, 4):
                raise DatabaseError("The link to the database broke.")
            await delete(app, job_id, by=by)

        monkeypatch.setattr(job_steering, "delete", dying)
        with pytest.raises(DatabaseError):
            await saving.delete(there.linking, project.id, OWNER)
        with pytest.raises(DatabaseError):
            await saving.remove_deleted(there.linking)
        assert await there.value("select count(*) from penstock.jobs where deleted_at is null") == 2
        assert await saving.remove_deleted(there.linking) == 1
        assert await there.value("select count(*) from penstock.jobs where deleted_at is null") == 0
        assert await saving.remove_deleted(there.linking) == 0
        async with worker(there.app):
            await _nothing_left(there)


async def test_progress_says_what_holds_it_up(database_url: str) -> None:
    async with linking_world(database_url, generated(10), linking_per_second=5.0) as there:
        project = await there.project([{"name": name} for name in sorted(there.server.world.names)[:5]])
        assert (await progress.read(there.linking, project.id)).running is False
        await there.start(project.id)
        waiting = await progress.read(there.linking, project.id)
        assert (waiting.requests_left, waiting.eta_seconds, waiting.total, waiting.ended) == (5, None, 5, 0)
        assert waiting.cause == "no worker serves linking.search"
        await there.drain()
        ended = await progress.read(there.linking, project.id)
        assert (ended.running, ended.requests_done, ended.ended) == (False, 6, 5)
