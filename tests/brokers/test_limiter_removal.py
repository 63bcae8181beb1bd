"""What people change has to reach the store that counts, whatever processes still remember."""

from collections.abc import AsyncIterator

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.control import limits as steering
from penstock.storage import limits
from tests.brokers.limiter_world import KEY, World, take, world_of


@pytest.fixture(params=["postgres", "redis"])
async def world(request, database_url, connection, redis_url) -> AsyncIterator[World]:
    async with world_of(request.param, database_url, connection, redis_url) as made:
        yield made


async def remembered(budgets, weights: list[int]):
    """A take that goes by what the process read before."""
    return await budgets.take(KEY, weights, ahead_seconds=0.0, heavy_ahead_seconds=0.0)


async def test_a_removal_lifts_block_and_limit(world):
    await world.configure(rate=1, burst=2)
    budgets = await world.budgets()
    await budgets.penalise(KEY, 600, "429")
    assert (await take(budgets, [1])).granted == 0
    assert await limits.remove(world.connection, KEY)
    assert (await take(budgets, [1] * 9)).granted == 9


async def test_a_process_that_remembers_a_block_does_not_bring_it_back(world):
    await world.configure(rate=10, burst=10)
    one, other = await world.budgets(), await world.budgets()
    await one.penalise(KEY, 600, "429")
    assert (await remembered(other, [1])).granted == 0
    await limits.remove(world.connection, KEY)
    assert (await take(one, [1])).granted == 1
    assert (await remembered(other, [1])).granted == 1, "also for the one that was not told"
    assert (await take(one, [1])).granted == 1


async def test_a_block_after_the_removal_holds_also_by_a_process_that_has_not_heard_of_it(world):
    await world.configure(rate=10, burst=10)
    one, other = await world.budgets(), await world.budgets()
    await remembered(other, [1])
    await limits.remove(world.connection, KEY)
    assert (await take(one, [1])).granted == 1
    await other.penalise(KEY, 30, "429")
    assert (await take(one, [1])).granted == 0


async def test_a_key_that_was_removed_can_be_limited_and_blocked_again(world):
    await world.configure(rate=1, burst=5)
    budgets = await world.budgets()
    assert (await take(budgets, [1] * 9)).granted == 5
    await limits.remove(world.connection, KEY)
    assert (await take(budgets, [1] * 9)).granted == 9
    await world.configure(rate=1, burst=3)
    assert (await take(budgets, [1] * 9)).granted == 3
    await budgets.penalise(KEY, 30, "429")
    assert (await take(budgets, [1])).wait_seconds == pytest.approx(30, abs=2)


async def test_a_limit_changed_after_the_clock_of_postgresql_was_set_back_holds_under_load(world):
    await world.configure(rate=1000, burst=10)
    await world.connection.execute("update penstock.limits set updated_at = updated_at + interval '1 hour'")
    budgets = await world.budgets()
    assert (await take(budgets, [1])).granted == 1
    await world.configure(rate=0.001, burst=1)
    assert sum([(await take(budgets, [1])).granted for _ in range(200)]) <= 1


@pytest.fixture
async def steered(database_url, connection, redis_url) -> AsyncIterator[tuple[World, Penstock]]:
    """A fleet that counts in Redis, and an application of people who steer it."""
    async with world_of("redis", database_url, connection, redis_url) as world:
        settings = load(database_url=database_url, redis_url=redis_url, broker_prefix=world.prefix)
        async with Penstock("steering", settings=settings) as app:
            yield world, app


async def test_every_steering_move_holds_at_once_for_a_process_that_has_not_heard_of_it(steered):
    world, app = steered
    await steering.configure(app, KEY, 1, 10, by="tests")
    budgets = await world.budgets()
    assert (await remembered(budgets, [1])).granted == 1
    await steering.block(app, KEY, 600, by="tests")
    assert (await remembered(budgets, [1])).wait_seconds > 590
    await steering.remove(app, KEY, by="tests")
    assert (await remembered(budgets, [1] * 20)).granted == 20
    await steering.configure(app, KEY, 1, 3, by="tests")
    assert (await remembered(budgets, [1] * 20)).granted == 3
    [view] = await steering.listing(app)
    assert (view.available, view.store) == (0, "redis")


async def test_a_move_of_people_is_stored_while_redis_does_not_answer(steered):
    world, _ = steered
    settings = load(database_url=world.database_url, redis_url="redis://127.0.0.1:1/0", broker_prefix=world.prefix)
    async with Penstock("steering", settings=settings) as app:
        await steering.configure(app, KEY, 1, 10, by="tests")
        await steering.block(app, KEY, 600, by="tests")
        assert (await steering.listing(app))[0].available is None
    assert (await take(await world.budgets(), [1])).wait_seconds > 590
