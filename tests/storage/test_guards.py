"""Every guard of the statements that move a task, one by one: what they refuse, and what they leave alone.

``make mutants`` takes these guards out of the SQL one at a time and expects a test here to fail.
"""

import asyncio
from datetime import UTC, datetime

import pytest

from penstock.lifecycle import State
from penstock.model import Finish
from penstock.storage import lanes, queue, stages
from penstock.storage.queue import LaneClaim
from tests.storage.world import World, build

# ---------------------------------------------------------------- claim


async def test_a_claim_takes_due_rows_in_order_and_only_as_many_as_asked_for(world: World):
    first, second, third = await world.put(3)
    a = await world.worker()
    assert {one.task_id for one in await world.claim(a, 2)} == {first, second}
    assert [one.task_id for one in await world.claim(a, 2)] == [third]


async def test_a_claim_leaves_a_row_that_somebody_holds(world: World):
    await world.put()
    a, b = await world.worker(), await world.worker()
    held = await world.claim_one(a)
    assert await world.claim(b) == []
    assert await queue.claim_by_id(world.connection, [held.task_id], b) == []


async def test_a_claim_leaves_a_row_that_is_not_due(world: World):
    (later,) = await world.put(delay_seconds=60)
    a = await world.worker()
    assert await world.claim(a) == []
    assert await queue.claim_by_id(world.connection, [later], a) == []


@pytest.mark.parametrize("what", ["paused lane", "cancelled lane", "paused job", "cancelled job", "paused stage"])
async def test_a_claim_obeys_pause_and_cancel_at_once(world: World, what: str):
    (waiting,) = await world.put()
    if what == "paused lane":
        await lanes.pause(world.connection, world.pipeline, "default", by="me", reason=None)
    elif what == "cancelled lane":
        await lanes.cancel(world.connection, world.pipeline, "default", "me")
    elif what.endswith("job"):
        await world.in_job(what.removesuffix(" job"))
    else:
        await stages.pause(world.connection, world.pipeline, None, "me", None)
    a = await world.worker()
    assert await world.claim(a) == []
    assert await queue.claim_by_id(world.connection, [waiting], a) == []


async def test_a_claim_starts_behind_the_position_it_is_given(world: World):
    first, second = await world.put(2)
    at = (await world.row(first))["run_at"]
    behind = [LaneClaim(world.stages[0], world.lane, 10, (at, first))]
    a = await world.worker()
    assert [one.task_id for one in await queue.claim(world.connection, behind, 10, a)] == [second]


async def test_a_claim_takes_at_most_the_quota_of_each_lane(world: World):
    await world.put(3)
    others = [await world.put_one(lane="other") for _ in range(3)]
    other_lane = (await world.row(others[0]))["lane"]
    wanted = [LaneClaim(world.stages[0], world.lane, 1), LaneClaim(world.stages[0], other_lane, 2)]
    claimed = await queue.claim(world.connection, wanted, 10, await world.worker())
    assert sorted(one.lane == world.lane for one in claimed) == [False, False, True]


@pytest.mark.parametrize("by_id", [False, True])
async def test_a_claim_does_not_wait_for_a_row_that_is_locked(world: World, other, by_id: bool):
    first, second = await world.put(2)
    a = await world.worker()
    async with other.transaction():
        await other.execute("select from penstock.queue where task_id = $1 for update", first)
        if by_id:
            claimed = await asyncio.wait_for(queue.claim_by_id(world.connection, [first, second], a), 60)
        else:
            claimed = await asyncio.wait_for(world.claim(a), 60)
    assert [one.task_id for one in claimed] == [second]


async def test_two_sessions_that_claim_at_the_same_time_share_the_tasks(world: World, other):
    await world.put(60)
    a, b = await world.worker(), await world.worker()

    async def take(connection, worker: int) -> list[int]:
        taken: list[int] = []
        while claimed := await world.claim(worker, 3, connection=connection):
            taken += [one.task_id for one in claimed]
        return taken

    by_a, by_b = await asyncio.gather(take(world.connection, a), take(other, b))
    assert len(by_a) + len(by_b) == 60
    assert not set(by_a) & set(by_b)


@pytest.mark.parametrize("by_id", [False, True])
async def test_each_lease_of_a_task_has_a_higher_number_than_the_one_before(world: World, by_id: bool):
    task = await world.put_one()
    a = await world.worker()
    numbers = []
    for _ in range(3):
        if by_id:
            (claimed,) = await queue.claim_by_id(world.connection, [task], a)
        else:
            claimed = await world.claim_one(a)
        numbers.append(claimed.lease)
        await world.release(a, [claimed])
    assert numbers == sorted(set(numbers))


# ---------------------------------------------------------------- finish


async def test_a_finish_needs_the_current_lease(world: World):
    task = await world.put_one()
    a = await world.worker()
    old = await world.claim_one(a)
    await world.release(a, [old])
    current = await world.claim_one(a)
    assert await world.finish(a, [old]) == 0
    assert await world.outcome(task) is None
    assert await world.finish(a, [current]) == 1
    assert (await world.outcome(task))["lease"] == current.lease


async def test_a_finish_needs_the_worker_that_holds_the_lease(world: World):
    task = await world.put_one()
    a, b = await world.worker(), await world.worker()
    held = await world.claim_one(a)
    assert await world.finish(b, [held]) == 0
    await world.release(a, [held], cause="rescue", rescued=True)
    assert await world.finish(a, [held]) == 0, "the row waits again, by the same number"
    assert await world.state(task) == "PENDING"


async def test_a_batch_settles_what_is_current_and_leaves_the_rest(world: World):
    await world.put(3)
    a, b = await world.worker(), await world.worker()
    stale = await world.claim_one(a)
    fresh = await world.claim(a, 2)
    await world.release(a, [stale])
    await world.claim_one(b)
    assert await world.finish(a, [stale, *fresh]) == 2
    assert await world.counted() == {0: 3, State.DONE: 2}


async def test_only_the_lease_that_settled_is_told_that_it_did(world: World):
    await world.put()
    a, b = await world.worker(), await world.worker()
    zombie = await world.claim_one(a)
    await world.release(a, [zombie])
    winner = await world.claim_one(b)
    await world.finish(b, [winner])

    def ended(lease: int) -> list[Finish]:
        return [Finish(winner.task_id, lease, winner.stage, State.DONE, None, None)]

    assert await queue.settled_before(world.connection, ended(winner.lease)) == {winner.task_id}
    assert await queue.settled_before(world.connection, ended(zombie.lease)) == set()


@pytest.mark.parametrize("state", [State.DONE, State.ERROR, State.NOT_FOUND, State.SKIPPED])
async def test_an_ending_is_stored_once_and_counted_once(world: World, state: State):
    task = await world.put_one()
    a = await world.worker()
    held = await world.claim_one(a)
    assert await world.finish(a, [held], state) == 1
    assert await world.finish(a, [held], state) == 0
    assert await world.counted() == {0: 1, state: 1}
    assert await world.row(task) is None
    outcome = await world.outcome(task)
    assert (outcome["status"], outcome["worker"], outcome["attempts"]) == (state, a, 1)


# ---------------------------------------------------------------- advance


async def two_stages(world: World, **options) -> World:
    return await build(world.connection, pipeline="long", stage_names=("first", "second"), **options)


async def test_an_advance_needs_lease_worker_and_stage(world: World):
    long = await two_stages(world)
    task = await long.put_one()
    a, b = await long.worker(), await long.worker()
    old = await long.claim_one(a)
    await long.release(a, [old])
    assert await long.advance(a, old) == 0, "nobody holds it"
    current = await long.claim_one(a)
    assert await long.advance(a, old) == 0, "an older lease"
    assert await long.advance(b, current) == 0, "another worker"
    current.stage, stage = long.stages[0], current.stage
    assert await long.advance(a, current) == 1
    assert await long.advance(a, current) == 0, "it has moved already"
    assert (await long.row(task))["stage"] == long.stages[1]
    assert stage == long.stages[0]
    assert await world.connection.fetchval("select count(*) from penstock.checkpoints") == 1


async def test_an_advance_names_the_stage_the_task_is_in(world: World):
    long = await build(world.connection, pipeline="longer", stage_names=("first", "second", "third"))
    await long.put()
    a = await long.worker()
    held = await long.claim_one(a)
    held.stage = long.stages[1]
    assert await long.advance(a, held) == 0


async def test_an_advance_counts_a_move_and_an_arrival_and_starts_afresh(world: World):
    long = await two_stages(world)
    task = await long.put_one(unique_key="k")
    a = await long.worker()
    await long.release(a, [await long.claim_one(a)], burned=True, crashed=True, cause="crash")
    await long.advance(a, await long.claim_one(a))
    row = await long.row(task)
    assert (row["attempt"], row["crashes"], row["worker"], row["unique_key"]) == (0, 0, None, None)
    assert await world.counted() == {0: 2, 7: 1}


async def test_an_advance_ends_a_task_that_was_asked_to_stop(world: World):
    long = await two_stages(world)
    task = await long.put_one()
    a = await long.worker()
    held = await long.claim_one(a)
    await queue.cancel(world.connection, task, "me")
    assert await long.advance(a, held) == 1
    assert await long.state(task) == "CANCELLED"
    assert await long.counted() == {0: 1, State.CANCELLED: 1}


# ---------------------------------------------------------------- release


async def test_a_release_needs_the_current_lease_and_its_worker(world: World):
    task = await world.put_one()
    a, b = await world.worker(), await world.worker()
    old = await world.claim_one(a)
    await world.release(a, [old])
    current = await world.claim_one(a)
    assert await world.release(a, [old]) == {}
    assert await world.release(b, [current]) == {}
    assert (await world.row(task))["worker"] == a
    assert await world.release(a, [current]) == {task: 0}
    assert await world.release(a, [current]) == {}, "a second time, by the number the row still has"


async def test_a_release_ends_a_task_that_was_asked_to_stop(world: World):
    task = await world.put_one()
    a = await world.worker()
    held = await world.claim_one(a)
    await queue.cancel(world.connection, task, "me")
    assert await world.release(a, [held]) == {task: State.CANCELLED}
    assert await world.counted() == {0: 1, State.CANCELLED: 1}
    assert await world.row(task) is None


async def test_a_task_is_a_dead_letter_after_exactly_three_crashes(world: World):
    task = await world.put_one(max_attempts=10)
    a = await world.worker()
    endings = []
    for _ in range(3):
        crashed = await world.release(
            a, [await world.claim_one(a)], burned=True, crashed=True, cause="crash", error='{"type": "Crash"}'
        )
        endings.append(crashed[task])
    assert endings == [0, 0, State.ERROR]
    causes = await world.connection.fetch("select attempt, cause from penstock.attempts where burned order by lease")
    assert [tuple(row) for row in causes] == [(1, "crash"), (2, "crash"), (3, "crash")]
    assert (await world.outcome(task))["error"] == '{"type": "Crash"}'


async def test_a_crash_that_burns_the_last_attempt_ends_the_task(world: World):
    task = await world.put_one(max_attempts=2)
    a = await world.worker()
    await world.release(a, [await world.claim_one(a)], burned=True, cause="retry")
    assert await world.release(a, [await world.claim_one(a)], burned=True, crashed=True, cause="crash") == {
        task: State.ERROR
    }


async def test_a_task_is_a_dead_letter_after_ten_rescues(world: World):
    task = await world.put_one()
    a = await world.worker()
    endings = [
        (await world.release(a, [await world.claim_one(a)], rescued=True, cause="rescue"))[task] for _ in range(10)
    ]
    assert endings == [0] * 9 + [State.ERROR]


async def test_a_burned_attempt_is_counted_and_noted_and_others_are_not(world: World):
    task = await world.put_one()
    a = await world.worker()
    await world.release(a, [await world.claim_one(a)], cause=None)
    await world.release(a, [await world.claim_one(a)], cause="snooze")
    assert (await world.row(task))["attempt"] == 0
    await world.release(a, [await world.claim_one(a)], burned=True, cause="retry")
    assert (await world.row(task))["attempt"] == 1
    noted = await world.connection.fetch("select burned, cause from penstock.attempts order by lease")
    assert [tuple(row) for row in noted] == [(False, "snooze"), (True, "retry")]


async def test_a_released_task_keeps_its_place_or_waits_as_long_as_it_is_told(world: World):
    task = await world.put_one()
    a = await world.worker()
    before = (await world.row(task))["run_at"]
    await world.release(a, [await world.claim_one(a)])
    assert (await world.row(task))["run_at"] == before
    await world.release(a, [await world.claim_one(a)], delay_seconds=7200)
    wait = (await world.row(task))["run_at"] - datetime.now(UTC)
    assert 6600 < wait.total_seconds() < 7800
    assert await world.claim(a) == []


async def test_a_released_task_ends_when_a_younger_twin_waits(world: World):
    old = await world.put_one(unique_key="k")
    a = await world.worker()
    held = await world.claim_one(a)
    young = await world.put_one(unique_key="k")
    assert young != old
    assert await world.release(a, [held]) == {old: State.SKIPPED}
    assert await world.state(young) == "PENDING"
    assert await world.counted() == {0: 2, State.SKIPPED: 1}


async def test_of_twins_released_in_one_batch_the_youngest_waits(world: World):
    a = await world.worker()
    twins = []
    for _ in range(3):
        await world.put(unique_key="k")
        twins.append(await world.claim_one(a))
    (plain,) = await world.put()
    twins.append(await world.claim_one(a))
    released = await world.release(a, twins)
    skipped, waiting = State.SKIPPED, 0
    assert released == dict(zip([one.task_id for one in twins], [skipped, skipped, waiting, waiting], strict=True))
    assert await world.state(plain) == "PENDING"
