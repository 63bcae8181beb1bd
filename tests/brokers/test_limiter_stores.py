"""The limiter when Redis goes away, hangs, is emptied and comes back: no burst twice, no block forgotten."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from redis.asyncio import Redis

from penstock.brokers.redis import budgets as redis_budgets
from penstock.limits.limiter import LimiterBusy
from penstock.storage import limits
from tests.brokers.limiter_world import KEY, World, take, until, world_of


@pytest.fixture
async def world(database_url, connection, own_redis) -> AsyncIterator[World]:
    async with world_of("redis", database_url, connection, own_redis.url) as made:
        yield made


async def store_of(world: World) -> str:
    return (await limits.store(world.connection)).store


async def test_a_redis_that_was_emptied_is_told_the_block_again(world):
    await world.configure(rate=100, burst=10)
    budgets = await world.budgets()
    await budgets.penalise(KEY, 3000, "429")
    async with Redis.from_url(world.redis_url) as redis:
        await redis.flushall()
    grant = await take(budgets, [1])
    assert grant.granted == 0
    assert grant.wait_seconds > 2900
    assert await store_of(world) == "redis"


async def test_a_redis_that_was_emptied_gives_no_burst_again(world):
    await world.configure(rate=1, burst=100)
    budgets = await world.budgets()
    assert (await take(budgets, [100])).granted == 1
    async with Redis.from_url(world.redis_url) as redis:
        await redis.flushall()
    assert (await take(budgets, [2])).granted == 0


@pytest.mark.parametrize("how", ["kill", "freeze"])
async def test_without_redis_the_fleet_goes_on_in_postgresql_and_without_a_burst(world, own_redis, how):
    await world.configure(rate=1, burst=10_000)
    one, other = await world.limiters(hold_seconds=3600), await world.limiters(hold_seconds=3600)
    await asyncio.gather(one.of(KEY).acquire(), other.of(KEY).acquire())
    await asyncio.to_thread(getattr(own_redis, how))
    try:
        await asyncio.wait_for(one.of(KEY).acquire(), 60)
        assert await store_of(world) == "postgres"
        assert [(event.name, event.data["store"]) for event in world.events] == [("limiter.store_changed", "postgres")]
        # Nobody knows what Redis had granted: the burst is not there.
        left = (await limits.listing(world.connection))[0].available
        assert left < 1000
        await asyncio.wait_for(other.of(KEY).acquire(), 60)
        assert len(world.events) == 1, "the fleet moves once"
    finally:
        if how == "freeze":
            await asyncio.to_thread(own_redis.thaw)


async def test_no_permit_is_given_while_others_need_to_hear_of_a_move(world, own_redis, monkeypatch):
    monkeypatch.setattr(redis_budgets, "QUIET_SECONDS", 3600.0)
    await world.configure(rate=1000, burst=100)
    await world.connection.execute("update penstock.limiter_store set changed_at = now() - interval '2 hours'")
    one, other = await world.budgets(), await world.budgets()
    reach = {"ahead_seconds": 0.0, "heavy_ahead_seconds": 0.0}
    await other.take(KEY, [1], **reach)
    await one.take(KEY, [1], **reach)
    await asyncio.to_thread(own_redis.kill)
    grant = await one.take(KEY, [1], **reach)
    assert (grant.granted, grant.wait_seconds) == (0, 3600)
    grant = await take(one, [1])
    assert grant.granted == 0
    assert 3000 < grant.wait_seconds < 3600


async def test_the_fleet_returns_to_redis_when_it_answers_again_with_an_empty_budget(world, own_redis, monkeypatch):
    await world.configure(rate=1, burst=50)
    budgets = await world.budgets()
    await asyncio.to_thread(own_redis.kill)
    await take(budgets, [1])
    assert await store_of(world) == "postgres"
    await asyncio.to_thread(own_redis.start)

    async def is_back() -> bool:
        await take(budgets, [1])
        return await store_of(world) == "redis"

    await until(is_back)
    monkeypatch.setattr(redis_budgets, "QUIET_SECONDS", 3600.0)
    assert 3000 < (await take(budgets, [10])).wait_seconds < 3600, "until all processes have heard of the move"
    await world.connection.execute("update penstock.limiter_store set changed_at = now() - interval '2 hours'")
    grant = await take(budgets, [10])
    assert (grant.granted, grant.burst) == (0, 50)
    assert [event.data["store"] for event in world.events] == ["postgres", "redis"]


async def test_a_block_made_while_redis_is_away_holds(world, own_redis):
    await world.configure(rate=100, burst=10)
    limiters = await world.limiters()
    await limiters.of(KEY).acquire()
    await asyncio.to_thread(own_redis.kill)
    await limiters.of(KEY).penalise(3000, "429")
    with pytest.raises(LimiterBusy):
        await asyncio.wait_for(limiters.of(KEY).acquire(), 60)
    assert (await limits.listing(world.connection))[0].blocked_seconds > 2900


async def test_a_process_that_cannot_reach_redis_at_all_begins_in_postgresql(database_url, connection):
    nowhere = "redis://127.0.0.1:1/0"
    async with AsyncExitStack() as stack:
        world = World(store="redis", database_url=database_url, connection=connection, redis_url=nowhere, stack=stack)
        budgets = await world.budgets()
        assert not await asyncio.wait_for(budgets.prefer_redis(), 60)
        assert (await take(budgets, [1])).granted == 1
        assert await store_of(world) == "postgres"
