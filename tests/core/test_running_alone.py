"""A task that crashed a process before runs alone. What its runner cannot start meanwhile is left to others."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from penstock import Penstock
from penstock.storage import queue

_OTHERS = 20


class Work:
    """One task that crashed before and runs until it may end, and quick ones of another owner."""

    def __init__(self, app: Penstock) -> None:
        self.alone, self.may_end = asyncio.Event(), asyncio.Event()

        @app.task(pool=5)
        async def suspect() -> str:
            self.alone.set()
            await self.may_end.wait()
            return "ended"

        @app.task(pool=5)
        async def other(n: int) -> int:
            return n

        self.suspect, self.other = suspect, other

    async def enqueue_suspect(self, connection: asyncpg.Connection):
        task = await self.suspect.enqueue()
        await connection.execute("update penstock.queue set crashes = 1, attempt = 1 where task_id = $1", task.id)
        return task

    async def enqueue_others(self):
        return [await self.other.options(owner="bo").enqueue(n) for n in range(_OTHERS)]


@pytest.fixture
def work(app: Penstock) -> Work:
    return Work(app)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.01)


async def _leased(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("select count(*) from penstock.queue where worker is not null")
    return count


async def test_what_waits_in_the_inbox_of_a_runner_that_runs_a_suspect_is_given_back_uncounted(
    work: Work, working, connection: asyncpg.Connection
):
    suspect = await work.enqueue_suspect(connection)
    others = await work.enqueue_others()
    async with working():
        await work.alone.wait()

        async def given_back() -> bool:
            return await _leased(connection) == 1

        await _until(given_back)
        async with working():
            assert [await one.result(60) for one in others] == list(range(_OTHERS))
            assert await _leased(connection) == 1, "while the suspect runs on"
        work.may_end.set()
        assert await suspect.result(60) == "ended"
    assert await connection.fetchval("select count(*) from penstock.attempts") == 0


async def test_suspects_stay_with_the_runner_that_runs_one_and_leave_the_others_to_their_work(
    work: Work, working, connection: asyncpg.Connection
):
    """One crash makes suspects of everything that ran in the process. Given back, each would stop another runner."""
    suspects = [await work.enqueue_suspect(connection) for _ in range(3)]
    async with working() as first:
        await work.alone.wait()
        await first.runner.handing_back.run_once()
        async with working():
            others = await work.enqueue_others()
            assert [await one.result(60) for one in others] == list(range(_OTHERS))
            assert await _leased(connection) == len(suspects)
        work.may_end.set()
        assert [await one.result(60) for one in suspects] == ["ended"] * len(suspects)


async def test_a_runner_that_runs_a_suspect_claims_nothing_and_claims_again_after_it(
    app: Penstock, work: Work, working, connection: asyncpg.Connection
):
    suspect = await work.enqueue_suspect(connection)
    async with working() as inside:
        await work.alone.wait()
        others = await work.enqueue_others()
        for _ in range(3):
            assert await inside.runner.discovery.run_once() == []
        assert await _leased(connection) == 1
        work.may_end.set()
        assert [await one.result(60) for one in others] == list(range(_OTHERS))
        assert await suspect.result(60) == "ended"


async def test_a_claim_whose_answer_comes_after_the_suspect_began_is_given_back(
    work: Work, working, connection: asyncpg.Connection
):
    await work.enqueue_suspect(connection)
    async with working() as inside:
        await work.alone.wait()
        others = await work.enqueue_others()
        ids = [one.id for one in others]
        inside.runner.claimed(await queue.claim_by_id(connection, ids, inside.runner.worker))
        assert await _leased(connection) == 1 + _OTHERS

        async def given_back() -> bool:
            return await _leased(connection) == 1

        await _until(given_back)
        work.may_end.set()
