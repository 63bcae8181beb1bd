"""Processes whose settings differ, and a Redis that says no: people hear of it, with what to correct."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from redis.asyncio import Redis

from penstock.brokers.budgets import budgets_of
from penstock.config import load
from penstock.events import Event, Events
from penstock.insight import doctor
from penstock.limits.limiter import Limiters
from penstock.observe.finding import Finding, Health
from penstock.storage import limits
from tests.brokers.limiter_world import KEY, World, take, world_of

PASSWORD = "a-password-of-the-tests"


@pytest.fixture
async def world(database_url, connection, redis_url) -> AsyncIterator[World]:
    async with world_of("redis", database_url, connection, redis_url) as made:
        yield made


async def other_process(world: World, heard: list[Event], **settings) -> Limiters:
    pool = await world.stack.enter_async_context(asyncpg.create_pool(world.database_url, min_size=0, max_size=2))
    events = Events([heard.append])
    budgets = budgets_of(load(database_url=world.database_url, **settings), pool, events)
    world.stack.push_async_callback(budgets.close)
    return Limiters(pool, events, budgets=budgets)


async def examined(world: World, **settings) -> Finding:
    chosen = [one for one in doctor.CHECKS if one.name == "limiter"]
    [finding] = await doctor.examine(world.connection, load(database_url=world.database_url, **settings), checks=chosen)
    return finding


async def test_a_process_that_counts_elsewhere_than_the_fleet_says_so_once(world):
    await world.configure(rate=100, burst=100)
    heard: list[Event] = []
    limiters = await other_process(world, heard)
    for _ in range(3):
        await asyncio.wait_for(limiters.of(KEY).acquire(), 60)
    assert [(event.name, event.data["fleet"]) for event in heard] == [("limiter.store_differs", "redis")]


async def test_a_fleet_that_counts_where_all_settings_say_is_no_news(world):
    await world.connection.execute("update penstock.limiter_store set store = 'postgres'")
    await world.configure(rate=100, burst=100)
    heard: list[Event] = []
    await asyncio.wait_for((await other_process(world, heard)).of(KEY).acquire(), 60)
    assert heard == []


async def test_a_worker_that_counts_in_postgresql_takes_a_fleet_along_that_has_no_redis_any_more(world):
    await world.configure(rate=100, burst=100)
    heard: list[Event] = []
    limiters = await other_process(world, heard)
    await limiters._budgets.open()
    assert (await limits.store(world.connection)).store == "postgres"
    assert (await limits.listing(world.connection))[0].available <= 0, "nobody knows what Redis had granted"
    await asyncio.wait_for(limiters.of(KEY).acquire(), 60)
    assert [event.name for event in heard] == ["limiter.store_changed"]


async def test_the_doctor_finds_settings_that_differ_from_the_fleet(world):
    finding = await examined(world)
    assert finding.health is Health.BAD
    assert "grants every budget once more" in finding.finding
    assert (await examined(world, redis_url=world.redis_url)).health is Health.OK
    away = await examined(world, redis_url="redis://127.0.0.1:1/0")
    assert away.health is Health.WARN
    await world.connection.execute("update penstock.limiter_store set store = 'postgres'")
    assert (await examined(world)).health is Health.OK


async def test_a_wrong_password_is_told_as_such_and_limits_are_counted_in_postgresql(
    database_url, connection, own_redis
):
    async with world_of("redis", database_url, connection, own_redis.url) as world:
        await world.configure(rate=100, burst=10)
        wrong = own_redis.url.replace("redis://", "redis://:wrong-one@")
        async with Redis.from_url(own_redis.url) as redis:
            await redis.config_set("requirepass", PASSWORD)
        try:
            world.redis_url = wrong
            budgets = await world.budgets()
            for _ in range(2):
                assert not (await take(budgets, [1])).granted
                assert not await budgets.prefer_redis()
            finding = await examined(world, redis_url=wrong)
        finally:
            async with Redis.from_url(own_redis.url, password=PASSWORD) as redis:
                await redis.config_set("requirepass", "")
    assert (await limits.store(connection)).store == "postgres"
    assert [event.name for event in world.events] == ["limiter.redis_refused", "limiter.store_changed"]
    assert "Correct user and password in PENSTOCK_REDIS_URL" in world.events[0].data["reason"]
    assert finding.health is Health.BAD
    assert "Correct user and password" in finding.finding
    told = " ".join([str(event.data) for event in world.events] + [finding.finding])
    assert "wrong-one" not in told
    assert "does not answer" not in told
