"""Lanes without a job leave when they have been at rest for as long as tasks are kept, and never under an enqueue."""

import asyncio

import asyncpg
import pytest

from penstock.config import Settings
from penstock.storage import counts, lanes
from penstock.storage.queries import load
from penstock.upkeep.duties import Retention
from tests.storage.test_guards_fleet import _enqueue as enqueue
from tests.storage.test_guards_fleet import until_blocked
from tests.storage.world import World

KEPT_SECONDS = 30 * 86_400.0


async def rest(world: World, days: int = 60) -> None:
    """Everything empty is switched off, and time passes."""
    await lanes.deactivate_idle(world.connection, batch=100, idle_seconds=-1)
    await counts.fold(world.connection, 1000)
    await world.connection.execute("update penstock.lanes set rested_at = now() - $1 * interval '1 day'", days)


async def expire(world: World) -> int:
    return await asyncio.wait_for(lanes.expire(world.connection, KEPT_SECONDS, 100), 60)


async def kept(world: World) -> set[str]:
    return {row["key"] for row in await world.connection.fetch("select key from penstock.lanes")}


async def run_one(world: World) -> None:
    worker = await world.worker()
    await world.put()
    await world.finish(worker, [await world.claim_one(worker)])
    await lanes.activate_woken(world.connection)


async def test_a_lane_long_at_rest_leaves_with_its_counts(world: World):
    await run_one(world)
    await rest(world)
    assert await world.connection.fetchval("select count(*) from penstock.counts where lane = $1", world.lane)
    assert (await Retention(settings=Settings(retention_days=KEPT_SECONDS / 86_400)).run_once(world.connection))[
        "lanes"
    ] == 1
    assert await kept(world) == set()
    assert await world.connection.fetchval("select count(*) from penstock.counts") == 0
    assert await expire(world) == 0


async def test_a_lane_that_rests_since_yesterday_stays(world: World):
    await run_one(world)
    await rest(world, days=1)
    assert await expire(world) == 0


async def test_lanes_go_a_batch_at_a_time(world: World):
    for key in ("a", "b", "c"):
        await lanes.open_lane(world.connection, pipeline=world.pipeline, key=key, priority=0, owner=None, job_id=None)
    await rest(world)
    assert await lanes.expire(world.connection, KEPT_SECONDS, 3) == 3
    assert len(await kept(world)) == 1


@pytest.mark.parametrize(
    "decision",
    ["weight = 3", "max_running = 1", "paused_at = now()", "job_id = 7", "active = true", "rested_at = null"],
)
async def test_a_lane_that_somebody_decided_about_or_that_is_in_use_stays(world: World, decision: str):
    await rest(world)
    await world.connection.execute(f"update penstock.lanes set {decision}")
    assert await expire(world) == 0
    assert await kept(world) == {"default"}


async def test_a_cancelled_lane_leaves_whatever_was_decided_before(world: World):
    await lanes.configure(world.connection, world.pipeline, "default", weight=5)
    await lanes.cancel(world.connection, world.pipeline, "default", "ann")
    await rest(world)
    assert await expire(world) == 1


async def test_a_lane_somebody_is_enqueueing_into_stays(world: World, other: asyncpg.Connection):
    await rest(world)
    async with other.transaction():
        task = await enqueue(other, world)
        assert await expire(world) == 0
    assert await expire(world) == 0
    assert await world.state(task) == "PENDING"


async def test_an_enqueue_that_waited_for_the_removal_opens_a_new_lane(world: World, other: asyncpg.Connection):
    await rest(world)
    async with world.connection.transaction():
        assert await expire(world) == 1
        enqueueing = asyncio.create_task(enqueue(other, world))
        await until_blocked(world, other)
    task = await asyncio.wait_for(enqueueing, 60)
    row = await world.row(task)
    assert row["lane"] != world.lane
    assert [lane.id for lane in (await lanes.served(world.connection, [world.pipeline]))[0]] == [row["lane"]]


@pytest.mark.parametrize("holds", ["waiting", "leased", "wake", "unfolded count", "active"])
async def test_a_lane_is_looked_at_again_after_it_is_locked(world: World, holds: str):
    """The second look alone: what was committed between the first look and the lock is seen."""
    if holds in ("waiting", "leased"):
        await world.put()
    if holds == "leased":
        await world.claim_one(await world.worker())
    await world.connection.execute("delete from penstock.counts; delete from penstock.wakes")
    await world.connection.execute("update penstock.lanes set active = $1", holds == "active")
    if holds == "wake":
        await world.connection.execute("insert into penstock.wakes (lane) values ($1)", world.lane)
    if holds == "unfolded count":
        await world.connection.execute("insert into penstock.counts values ($1, 1, 0, 1)", world.lane)
    assert await world.connection.fetchval(load("lanes").expire, [world.lane]) == 0
    await world.connection.execute(
        "delete from penstock.queue; delete from penstock.counts; delete from penstock.wakes"
    )
    await world.connection.execute("update penstock.lanes set active = false")
    assert await world.connection.fetchval(load("lanes").expire, [world.lane]) == 1
