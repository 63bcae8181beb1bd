"""A hasten meets a task that somebody holds: what its release makes of that, also when both come at the same moment."""

import asyncio

import asyncpg
import pytest

from penstock.model import Release
from penstock.storage import queue
from tests.storage.world import CRASH_LIMIT, RESCUE_LIMIT, World

_LONG_SECONDS = 3600.0


async def _due(world: World, task_id: int) -> bool:
    due: bool = await world.connection.fetchval(
        "select worker is null and run_at <= now() from penstock.queue where task_id = $1", task_id
    )
    return due


@pytest.mark.parametrize(
    ("cause", "burned", "due"),
    [("snooze", False, True), ("not_found", True, True), ("throttled", False, False), ("retry", True, False)],
)
async def test_only_what_asked_to_be_called_later_is_due_at_once(world: World, cause: str, burned: bool, due: bool):
    """A provider's pause and a backoff are no wait for something that may have come meanwhile."""
    a = await world.worker()
    task_id = await world.put_one()
    held = await world.claim_one(a)
    await queue.note_hasten(world.connection, [task_id])
    await world.release(a, [held], cause=cause, burned=burned, delay_seconds=_LONG_SECONDS)
    assert await _due(world, task_id) is due


async def test_of_a_batch_only_those_that_were_hastened_are_due_at_once(world: World):
    a = await world.worker()
    first, second, third = await world.put(3)
    held = await world.claim(a)
    await queue.note_hasten(world.connection, [first, third])
    await world.release(a, held, cause="snooze", delay_seconds=_LONG_SECONDS)
    assert [await _due(world, one) for one in (first, second, third)] == [True, False, True]
    moved = await world.connection.fetch("select task_id, next_run_at <= now() as due from penstock.attempts")
    assert {row["task_id"]: row["due"] for row in moved} == {first: True, second: False, third: True}


async def test_a_hasten_under_an_earlier_lease_does_not_count(world: World):
    a, b = await world.worker(), await world.worker()
    task_id = await world.put_one()
    held = await world.claim_one(a)
    await queue.note_hasten(world.connection, [task_id])
    await world.release(a, [held], cause=None)
    again = await world.claim_one(b)
    await world.release(b, [again], cause="snooze", delay_seconds=_LONG_SECONDS)
    assert not await _due(world, task_id)


async def test_a_hasten_of_what_nobody_holds_notes_nothing(world: World):
    task_id = await world.put_one(delay_seconds=_LONG_SECONDS)
    await queue.note_hasten(world.connection, [task_id])
    row = await world.row(task_id)
    assert row["hastened"] is None and not await _due(world, task_id)


async def test_a_hasten_that_meets_the_release_itself_waits_for_it_and_finds_the_task_waiting(
    world: World, other: asyncpg.Connection
):
    """The release has locked the row and is not committed: neither a leased nor a waiting row can be seen."""
    a = await world.worker()
    job: int = await world.connection.fetchval(
        "insert into penstock.jobs (pipeline) values ($1) returning id", world.pipeline
    )
    await world.connection.execute("update penstock.lanes set job_id = $1", job)
    running, snoozed = await world.put(2)  # in this order: whoever waited for the second would hold the first
    held = {one.task_id: one for one in await world.claim(a)}
    async with world.connection.transaction():
        await world.release(a, [held[snoozed]], cause="snooze", delay_seconds=_LONG_SECONDS)
        noting = asyncio.ensure_future(queue.note_hasten(other, [snoozed, running]))
        async with asyncio.timeout(60):
            while not await world.connection.fetchval(
                "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1", other.get_server_pid()
            ):
                await asyncio.sleep(0.01)
        # Whoever settles the other one is not held up.
        late = Release(task_id=running, lease=held[running].lease, stage=held[running].stage, cause=None)
        released = await queue.release(world.connection, a, [late], crash_limit=CRASH_LIMIT, rescue_limit=RESCUE_LIMIT)
        assert released == {running: 0}
    async with asyncio.timeout(60):
        await noting
    assert await queue.hasten(other, job, [snoozed, running], 100) == 1
    assert await _due(world, snoozed)
