"""Runs end whatever becomes of their workers, their settings and their tasks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.control import jobs as job_steering
from penstock.errors import PermanentError, UsageError
from penstock.extensions import linking as record_linking
from penstock.extensions.linking import progress
from penstock.extensions.linking.stages import SEARCH, WATCH
from penstock.extensions.linking.watching import settle_all
from penstock.testing import drain
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.test_linking_matching import small

ROWS = [{"name": "Ada Quillfeather"}, {"name": "Bruno Ashdown"}]


@asynccontextmanager
async def another_worker(there: LinkingWorld) -> AsyncIterator[Penstock]:
    """One whose settings nobody made."""
    settings = load(database_url=there.app.settings.database_url, linking_endpoint=there.server.url)
    app = Penstock("linking", settings=settings)
    linking = record_linking.install(app)
    async with app:
        try:
            yield app
        finally:
            await linking.close()


async def test_a_run_on_workers_without_settings_ends_with_the_reason_and_can_be_repeated(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        async with another_worker(there) as worker:
            await drain(worker, advance=True)
        assert await there.counts(project.id) == {"ERROR": 2}
        told = str((await there.records(project.id))[0].error)
        assert told.startswith("The worker on ")
        assert "PENSTOCK_LINKING_USER_AGENT is not set" in told
        assert not (await progress.read(there.linking, project.id)).running
        await there.match(project.id, "failed")
        assert await there.counts(project.id) == {"ACCEPTED": 2}


async def test_a_fetch_on_a_worker_without_settings_ends_the_records_that_wait_for_it(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)
        await there.drain(only=[SEARCH])
        async with another_worker(there) as worker:
            await drain(worker, advance=True)
        assert await there.counts(project.id) == {"ERROR": 2}
        assert "PENSTOCK_LINKING_USER_AGENT" in str((await there.records(project.id))[1].error)
        await there.match(project.id, "failed")
        assert await there.counts(project.id) == {"ACCEPTED": 2}


async def test_a_run_whose_job_was_cancelled_is_cancelled_and_matched_again(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        started = await there.start(project.id)
        assert started.job_id is not None
        await job_steering.cancel(there.app, started.job_id, by=OWNER)
        seen = await progress.read(there.linking, project.id)
        assert (seen.running, seen.cause) == (False, None)
        assert await there.counts(project.id) == {"CANCELLED": 2}
        again = await there.start(project.id, "new")
        assert again.job_id is not None
        await job_steering.cancel(there.app, again.job_id, by=OWNER)
        # Without a look in between, and with nothing that was left of the job.
        await there.match(project.id, "new")
        assert await there.counts(project.id) == {"ACCEPTED": 2}


async def test_a_run_without_any_task_ends_in_error_and_upkeep_finds_it_too(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        numbers = []
        for _ in range(2):
            project = await there.project(ROWS)
            await there.start(project.id)
            numbers.append(project.id)
        async with there.app.connection() as connection:
            await connection.execute("delete from penstock.queue")
        assert not (await progress.read(there.linking, numbers[0])).running
        assert await there.counts(numbers[0]) == {"ERROR": 2}
        assert await there.counts(numbers[1]) == {"QUEUED": 2}
        assert await settle_all(there.linking) == 1
        assert await there.counts(numbers[1]) == {"ERROR": 2}
        assert await settle_all(there.linking) == 0


async def test_a_run_that_waits_is_not_taken_for_abandoned(database_url: str) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        started = await there.start(project.id)
        assert started.job_id is not None
        await job_steering.pause(there.app, started.job_id, by=OWNER)
        seen = await progress.read(there.linking, project.id)
        assert (seen.running, seen.cause) == (True, f"job {started.job_id} is paused")
        assert await there.counts(project.id) == {"QUEUED": 2}


async def test_a_watch_that_meets_an_error_looks_again(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with linking_world(database_url, small()) as there:
        project = await there.project(ROWS)
        await there.start(project.id)

        async def refused(source: str) -> None:
            monkeypatch.undo()
            raise PermanentError("No room for more tasks.")

        monkeypatch.setattr(there.linking.batching, "ask", refused)
        with pytest.raises(UsageError, match="snooze"):  # the drain's own: the watch goes on and on
            await there.drain(only=[WATCH], most_runs=5)
        assert (await there.drain()).failed == 0
        assert await there.counts(project.id) == {"ACCEPTED": 2}
