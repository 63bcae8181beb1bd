"""A runner that runs a suspect alone starts nothing else: tasks and messages that it cannot use go to other runners."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from penstock.brokers import feed
from tests.brokers.world import TRANSPORTS, World, made_world


@pytest.fixture(params=TRANSPORTS)
async def world(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[World]:
    """Nobody goes around the broker, and nothing is sent again: a message that stays in a runner would show."""
    url = None if request.param == "postgres" else request.getfixturevalue(f"{request.param}_url")
    made = made_world(database_url, request.param, url, broker_patience_seconds=300.0, resend_seconds=300.0)
    yield made
    await made.app.close()


async def test_what_a_runner_cannot_start_beside_a_task_that_runs_alone_is_left_to_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Messages have to go back because the runner rests, not because it looks up now and then.
    monkeypatch.setattr(feed, "_WAIT_SECONDS", 3600.0)
    alone, may_end = asyncio.Event(), asyncio.Event()

    @world.app.task()
    async def suspect() -> None:
        alone.set()
        await may_end.wait()

    @world.app.task()
    async def other(n: int) -> int:
        return n

    crashed = await suspect.enqueue()
    early = await other.enqueue_many([{"n": n} for n in range(100)])
    await world.value("update penstock.queue set crashes = 1, attempt = 1 where task_id = $1 returning 1", crashed.id)
    async with world.working():
        await alone.wait()
        late = await other.enqueue_many([{"n": n} for n in range(100)])
        async with world.working():
            for job in (early, late):
                assert (await job.wait(timeout=60)).done == 100
        may_end.set()
        await crashed.result(timeout=60)
        again = await other.enqueue_many([{"n": n} for n in range(100)])
        assert (await again.wait(timeout=60)).done == 100, "it takes messages again"
