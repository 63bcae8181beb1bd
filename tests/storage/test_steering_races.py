"""Decisions about jobs and lanes meet claims under a limit, which hold lanes in the order of their ids."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from penstock.storage import jobs, lanes
from tests.storage.world import World

Decision = Callable[[Any, int], Awaitable[Any]]
_WAIT_SECONDS = 60

_DECISIONS: dict[str, Decision] = {
    "pause of a job": lambda connection, job: jobs.pause(connection, job, "ann", None),
    "resume of a job": jobs.resume,
    "cancel of a job": lambda connection, job: jobs.cancel(connection, job, "ann"),
    "lanes that follow a job": lambda connection, job: lanes.follow_jobs(connection),
    "another priority for a job": lambda connection, job: lanes.reprioritise_job(connection, job, 7),
    "pause of a lane": lambda connection, job: lanes.pause(connection, "work", "named", by="ann", reason=None),
    "resume of a lane": lambda connection, job: lanes.resume(connection, "work", "named"),
    "cancel of a lane": lambda connection, job: lanes.cancel(connection, "work", "named", "ann"),
    "another weight for a lane": lambda connection, job: lanes.configure(connection, "work", "named", weight=3),
}


async def _two_lanes(world: World, job: int | None) -> list[int]:
    """Of one job, or of one name; stored so that a scan finds the later one first, whatever index it takes."""
    for priority in (9, 1):
        await world.put(1, lane="named", priority=priority, job_id=job)
    ids = [
        row["id"]
        for row in await world.connection.fetch(
            "select id from penstock.lanes where key like 'named%' and job_id is not distinct from $1 order by id", job
        )
    ]
    for active in (False, True):  # a new version of the row behind the other one, in the indexes too
        await world.connection.execute("update penstock.lanes set active = $2 where id = $1", ids[0], active)
    return ids


async def _waits_for_a_lock(looking: asyncpg.Connection, waiting: asyncpg.Connection) -> None:
    async with asyncio.timeout(_WAIT_SECONDS):
        while not await looking.fetchval(
            "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1", waiting.get_server_pid()
        ):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("what", _DECISIONS)
async def test_whoever_decides_takes_lanes_in_the_order_of_claims(
    what: str, world: World, other: asyncpg.Connection
) -> None:
    job = None
    if "job" in what:
        job, _ = await jobs.create(
            world.connection, pipeline="work", name=None, owner=None, idempotency_key=None, metadata="{}"
        )
    first, second = await _two_lanes(world, job)
    if "follow" in what:
        await world.connection.execute("update penstock.jobs set paused_at = now() where id = $1", job)
    hold = "select from penstock.lanes where id = $1 for no key update"
    async with world.connection.transaction():
        await world.connection.execute(hold, first)
        deciding = asyncio.ensure_future(_DECISIONS[what](other, job or 0))
        await _waits_for_a_lock(world.connection, other)
        # Whoever held this one and waited for the first would be in a deadlock with us.
        await world.connection.execute(f"{hold} nowait", second)
    async with asyncio.timeout(_WAIT_SECONDS):
        assert await deciding
