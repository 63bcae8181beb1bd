"""The guards around the tasks: workers and their death, lanes, limits, cancel and reprocess."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from penstock.config import Settings
from penstock.core.claim import Claimer
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.lifecycle import State
from penstock.storage import lanes, outcomes, queue, stages, workers
from penstock.storage.database import Link
from penstock.storage.queries import load
from penstock.storage.workers import Heartbeat
from penstock.testing import statements as testing
from penstock.upkeep.duties import Rescue, deactivate_lanes
from tests.storage.world import LEASE_SECONDS, World

REPROCESS: dict[str, Any] = {"from_stage": None, "by": "me", "reset_attempts": True}
ALL_ENDINGS = [2, 3, 4, 5, 6]


async def until_blocked(world: World, connection: asyncpg.Connection, seconds: float = 60.0) -> None:
    """Wait until the other session stands before a lock."""
    deadline = time.monotonic() + seconds
    waiting = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1"
    while not await world.connection.fetchval(waiting, connection.get_server_pid()):
        assert time.monotonic() < deadline, "the other session is not waiting for a lock"
        await asyncio.sleep(0.005)


# ---------------------------------------------------------------- workers


async def beat(world: World, worker: int, running: list[int] | None = None) -> bool:
    beats = [Heartbeat(worker=worker, running=running or [], status={})]
    return worker in await workers.heartbeat(world.connection, beats, LEASE_SECONDS)


async def test_a_heartbeat_renews_the_lease(world: World):
    a = await world.worker()
    await world.end_lease(a)
    assert await beat(world, a)
    assert await workers.declare_dead(world.connection) == []


async def test_only_a_worker_whose_lease_ended_is_declared_dead_and_only_once(world: World):
    a, b, stopped = await world.worker(), await world.worker(), await world.worker()
    await world.end_lease(a)
    await workers.stop(world.connection, [stopped])
    await world.end_lease(stopped)
    assert await workers.declare_dead(world.connection) == [a]
    assert await workers.declare_dead(world.connection) == []
    assert await beat(world, b)


@pytest.mark.parametrize("how", ["lease", "supervisor", "goodbye"])
async def test_the_heartbeat_of_a_worker_that_is_gone_is_refused(world: World, how: str):
    a = await world.worker()
    if how == "lease":
        await world.end_lease(a)
        await workers.declare_dead(world.connection)
    elif how == "supervisor":
        await workers.declare_dead_by_supervisor(world.connection, a)
    else:
        await workers.stop(world.connection, [a])
    assert not await beat(world, a)


async def test_a_heartbeat_and_a_declaration_at_the_same_time_have_one_winner(world: World, other):
    a = await world.worker()
    await world.end_lease(a)
    transaction = other.transaction()
    await transaction.start()
    assert await workers.declare_dead(other) == [a]
    beating = asyncio.create_task(beat(world, a))
    await asyncio.sleep(0)
    await transaction.commit()
    assert not await asyncio.wait_for(beating, 60)


async def test_holders_that_are_dead_stopped_or_unknown_are_found_and_others_are_not(world: World):
    await world.put(4)
    a, dead, stopped = await world.worker(), await world.worker(), await world.worker()
    unknown = stopped + 1000
    for worker in (a, dead, stopped, unknown):
        await world.claim_one(worker)
    await workers.declare_dead_by_supervisor(world.connection, dead)
    await workers.stop(world.connection, [stopped])
    assert sorted(await queue.holders_gone(world.connection)) == [dead, stopped, unknown]


async def test_a_rescue_gives_back_what_a_lost_worker_holds_and_burns_nothing(world: World):
    """Also of what ran: nobody saw it die, and the worker may only be cut off."""
    ran, waited = await world.put(2)
    a, b = await world.worker(), await world.worker()
    held = await world.claim(a, 2)
    (survivor,) = await world.put()
    await world.claim_one(b)
    await beat(world, a, [one.lease for one in held if one.task_id == ran])
    await world.end_lease(a)
    rescue = Rescue(events=Events(), crash_limit=3, rescue_limit=10)
    assert await rescue.run_once(world.connection) == {"dead": 1, "rescued": 2}
    for task in (ran, waited):
        row = await world.row(task)
        assert (row["attempt"], row["crashes"], row["rescues"]) == (0, 0, 1)
    assert (await world.row(survivor))["worker"] == b
    assert await world.finish(a, held) == 0, "the zombie comes too late"


async def test_a_run_under_an_earlier_lease_does_not_count_as_one_under_the_next(world: World):
    """The worker handed the task back and got it again; its last heartbeat is from before. It only waits this time."""
    (task,) = await world.put()
    await world.connection.execute("update penstock.queue set rescues = 1")
    a = await world.worker()
    before = await world.claim_one(a)
    await beat(world, a, [before.lease])
    await world.release(a, [before], cause=None)
    again = await world.claim_one(a)
    assert again.lease > before.lease
    await world.end_lease(a)
    rescue = Rescue(events=Events(), crash_limit=3, rescue_limit=10)
    assert await rescue.run_once(world.connection) == {"dead": 1, "rescued": 1}
    row = await world.row(task)
    assert (row["worker"], row["attempt"], row["crashes"], row["rescues"]) == (None, 0, 0, 1)


async def test_a_task_that_only_waited_in_the_inboxes_of_machines_that_died_is_given_back_for_ever(world: World):
    """After its first rescue it notes that it begins; without that note it certainly had not."""
    (task,) = await world.put()
    rescue = Rescue(events=Events(), crash_limit=3, rescue_limit=4)
    for _ in range(8):
        worker = await world.worker()
        held = await world.claim_one(worker)
        await world.end_lease(worker)
        await rescue.run_once(world.connection)
        assert held.rescues <= 1
    row = await world.row(task)
    assert (row["worker"], row["attempt"], row["crashes"], row["rescues"]) == (None, 0, 0, 1)


@pytest.mark.parametrize("told", ["by the heartbeat", "by its note"])
async def test_a_task_whose_machine_dies_ten_times_while_it_runs_is_a_dead_letter(world: World, told: str):
    """After its first rescue it notes that it begins, so a machine that dies before its heartbeat counts as well."""
    (task,) = await world.put()
    rescue = Rescue(events=Events(), crash_limit=3, rescue_limit=10)
    for times in range(10):
        worker = await world.worker()
        held = await world.claim_one(worker)
        assert (held.rescues, held.attempt, held.crashes) == (times, 0, 0)
        if told == "by the heartbeat":
            await beat(world, worker, [held.lease])
        elif held.rescues:
            assert await queue.begin(world.connection, task, held.lease, worker)
            assert not await queue.begin(world.connection, task, held.lease - 1, worker), "an old lease"
        await world.end_lease(worker)
        await rescue.run_once(world.connection)
    outcome = await world.outcome(task)
    assert (outcome["status"], outcome["attempts"]) == (State.ERROR, 1)


async def test_a_claim_by_id_takes_only_what_still_is_what_was_looked_up(world: World):
    (task,) = await world.put()
    worker = await world.worker()
    stage = (await world.row(task))["stage"]
    assert await queue.claim_by_id(world.connection, [task], worker, stages=[stage + 1]) == []
    assert await queue.claim_by_id(world.connection, [task], worker, stages=[stage], least_age_seconds=30.0) == []
    (claimed,) = await queue.claim_by_id(world.connection, [task], worker, stages=[stage])
    assert claimed.task_id == task


async def test_a_worker_that_holds_a_task_is_not_forgotten(world: World):
    await world.put()
    a, b = await world.worker(), await world.worker()
    await world.claim_one(a)
    await workers.stop(world.connection, [a, b])
    assert await workers.forget(world.connection, -1) == 1
    assert [row["id"] for row in await workers.listing(world.connection, gone_too=True)] == [a]


# ---------------------------------------------------------------- cancel


async def test_a_cancel_ends_a_waiting_task_and_asks_a_running_one(world: World):
    running, waiting = await world.put(2)
    a = await world.worker()
    held = await world.claim_one(a)
    assert await queue.cancel(world.connection, waiting, "me") == (True, False)
    assert await queue.cancel(world.connection, running, "me") == (False, True)
    assert await world.state(waiting) == "CANCELLED"
    assert (await world.row(running))["worker"] == a
    assert await queue.asked_to_stop(world.connection, [a]) == [(running, held.lease, a)]
    assert await queue.asked_to_stop(world.connection, [a + 1]) == []
    assert await world.counted() == {0: 2, State.CANCELLED: 1}
    assert await queue.cancel(world.connection, waiting, "me") == (False, False)


async def test_a_cancelled_lane_asks_what_runs_and_sweeps_what_waits(world: World):
    running, waiting, elsewhere = (*await world.put(2), await world.put_one(lane="other"))
    a = await world.worker()
    held = await world.claim_one(a)
    await lanes.cancel(world.connection, world.pipeline, "default", "me")
    assert await queue.asked_to_stop(world.connection, [a]) == [(running, held.lease, a)]
    assert await queue.sweep_cancelled(world.connection, 10) == 1
    assert await world.state(waiting) == "CANCELLED"
    assert await world.state(elsewhere) == "PENDING"
    assert await world.state(running) == "PROCESSING"
    assert await world.counted() == {0: 3, State.CANCELLED: 1}


# ---------------------------------------------------------------- lanes


async def on(world: World) -> bool:
    """By its row alone."""
    found: bool = await world.connection.fetchval("select active from penstock.lanes where id = $1", world.lane)
    return found


async def looked_at(world: World) -> bool:
    """By workers: because it is on, or because somebody woke it."""
    return world.lane in [lane.id for lane in (await lanes.served(world.connection, [world.pipeline]))[0]]


async def clean(connection: asyncpg.Connection) -> int:
    return await lanes.deactivate_idle(connection, batch=10, idle_seconds=-1)


async def test_an_idle_lane_is_switched_off_and_an_enqueue_wakes_it(world: World):
    assert await clean(world.connection) == 1
    assert not await looked_at(world)
    await world.put(2)
    assert await looked_at(world)
    assert not await on(world)
    assert await lanes.activate_woken(world.connection) == 1
    assert await on(world)
    assert await world.connection.fetchval("select count(*) from penstock.wakes") == 0


async def test_a_lane_at_rest_that_holds_rows_nobody_announced_is_found(world: World):
    await world.put(2)
    await world.connection.execute("update penstock.lanes set active = false; delete from penstock.wakes")
    assert not await looked_at(world)
    assert (await deactivate_lanes(world.connection))["stranded"] == 1
    assert await looked_at(world)
    assert await lanes.activate_stranded(world.connection) == 0


@pytest.mark.parametrize("decision", ["paused", "cancelled"])
async def test_a_lane_follows_what_was_decided_about_its_job(world: World, decision: str):
    job = await world.in_job(decision)
    assert await lanes.follow_jobs(world.connection) == 1
    (lane,) = await lanes.of_job(world.connection, job)
    assert (lane[f"{decision}_at"] is not None, lane[f"{decision}_by"]) == (True, "ann")
    assert await lanes.follow_jobs(world.connection) == 0
    if decision == "paused":
        await world.connection.execute("update penstock.jobs set paused_at = null, paused_by = null")
        assert await lanes.follow_jobs(world.connection) == 1
        assert (await lanes.of_job(world.connection, job))[0]["paused_at"] is None


async def test_what_is_leased_in_a_paused_lane_or_stage_is_asked_to_wait(world: World):
    task = await world.put_one()
    a = await world.worker()
    held = await world.claim_one(a)
    assert await queue.asked_to_wait(world.connection, [a]) == []
    await lanes.pause(world.connection, world.pipeline, "default", by="me", reason=None)
    assert await queue.asked_to_wait(world.connection, [a]) == [(task, held.lease, a)]
    assert await queue.asked_to_wait(world.connection, [a + 1]) == []
    await lanes.resume(world.connection, world.pipeline, "default")
    await stages.pause(world.connection, world.pipeline, None, "me", None)
    assert await queue.asked_to_wait(world.connection, [a]) == [(task, held.lease, a)]


async def test_a_wake_that_is_not_committed_is_kept_for_the_next_time(world: World, other):
    await clean(world.connection)
    async with other.transaction():
        await _enqueue(other, world)
        assert await lanes.activate_woken(world.connection) == 0
    assert await looked_at(world)
    assert await lanes.activate_woken(world.connection) == 1


async def test_a_lane_that_holds_a_row_stays_on(world: World):
    await world.put()
    assert await clean(world.connection) == 0, "it waits"
    a = await world.worker()
    held = await world.claim_one(a)
    assert await clean(world.connection) == 0, "it runs"
    await world.finish(a, [held])
    assert await clean(world.connection) == 1


async def test_a_lane_is_looked_at_again_after_it_is_locked(world: World):
    """The second look alone: what a first look missed, because it was committed before the lock, is seen."""
    deactivate = load("lanes").deactivate
    await world.put()
    assert await world.connection.fetch(deactivate, [world.lane]) == []
    await world.claim_one(await world.worker())
    assert await world.connection.fetch(deactivate, [world.lane]) == []


async def test_a_lane_somebody_is_enqueueing_into_is_left_alone(world: World, other):
    async with other.transaction():
        await _enqueue(other, world)
        assert await clean(world.connection) == 0
    assert await looked_at(world)


async def test_an_enqueue_that_waited_for_the_clean_up_wakes_the_lane(world: World, other):
    async with world.connection.transaction():
        assert await clean(world.connection) == 1
        enqueueing = asyncio.create_task(_enqueue(other, world))
        await until_blocked(world, other)
    await asyncio.wait_for(enqueueing, 60)
    assert await looked_at(world)


async def _enqueue(connection: asyncpg.Connection, world: World) -> int:
    task: int = await connection.fetchval(
        "select task_id from penstock.enqueue($1, lane => 'default', notify => false)", world.pipeline
    )
    return task


# ---------------------------------------------------------------- unique keys


async def test_a_task_that_an_enqueuer_was_answered_with_is_not_claimed_before_its_commit(world: World, other):
    waiting = await world.put_one(unique_key="k")
    a = await world.worker()
    ask = "select task_id, created from penstock.enqueue($1, unique_key => 'k', notify => false)"
    async with other.transaction():
        assert tuple(await other.fetchrow(ask, world.pipeline)) == (waiting, False)
        assert await world.claim(a) == []
    assert len(await world.claim(a)) == 1
    assert (await other.fetchrow(ask, world.pipeline))["created"], "the one before has started"


# ---------------------------------------------------------------- limits


@pytest.fixture
async def claimers(world: World, module_database_url: str) -> AsyncIterator[list[Claimer]]:
    """Two runners' claimers, each with its own connection, for a stage with a fleet-wide limit of one."""
    await stages.limit(world.connection, world.pipeline, None, 1)
    links, made = [], []
    for _ in range(2):
        links.append(Link(Settings.model_validate({}), module_database_url, purpose="test"))
        made.append(
            Claimer(
                link=links[-1],
                worker=await world.worker(),
                failpoints=Failpoints(),
                pipelines={world.stages[0]: world.pipeline},
            )
        )
    yield made
    for link in links:
        await link.close()


async def test_a_limit_of_one_is_exact_among_claimers_that_race(world: World, claimers: list[Claimer]):
    await world.put(20)
    for _ in range(5):
        for claimer in claimers:
            claimer.turns.forget_dry()
        claimed = await asyncio.gather(*(claimer.claim({world.stages[0]: 5}) for claimer in claimers))
        assert sum(len(some) for some in claimed) == 1
        assert (await testing.depth(world.connection))[world.stages[0]][1] == 1
        await world.connection.execute("update penstock.queue set worker = null")


@pytest.mark.parametrize("limited", ["stage", "lane"])
async def test_a_claimer_waits_for_the_one_before_and_counts_what_it_took(world: World, other, limited: str):
    await world.put(2)
    if limited == "stage":
        await stages.limit(world.connection, world.pipeline, None, 1)
    else:
        await lanes.configure(world.connection, world.pipeline, "default", set_limit=True, max_running=1)

    async def lock(connection: asyncpg.Connection) -> Any:
        if limited == "stage":
            return await queue.lock_limited_stages(connection, world.stages)
        return await queue.lock_limited_lanes(connection, [world.lane])

    transaction = other.transaction()
    await transaction.start()
    async with world.connection.transaction():
        assert await lock(world.connection)
        locking = asyncio.create_task(lock(other))
        await until_blocked(world, other)
        await world.claim(await world.worker(), 1)
    await asyncio.wait_for(locking, 60)
    assert sum((await queue.count_leased(other, world.stages)).values()) == 1
    await transaction.rollback()


# ---------------------------------------------------------------- reprocess


async def test_only_finished_tasks_in_the_states_asked_for_start_again(world: World):
    done, failed, running = await world.put(3)
    a = await world.worker()
    held = await world.claim(a, 3)
    await world.finish(a, held[:1], State.DONE)
    await world.finish(a, held[1:2], State.ERROR)
    everything = [done, failed, running]
    assert await outcomes.reprocess(world.connection, everything, statuses=[3], **REPROCESS) == [failed]
    assert await world.state(done) == "DONE"
    assert await world.state(running) == "PROCESSING"
    assert (await world.row(running))["run"] == 1


async def test_a_reprocess_takes_the_outcome_into_the_history_and_goes_on_counting_leases(world: World):
    task = await world.put_one()
    a = await world.worker()
    first = await world.claim_one(a)
    await world.finish(a, [first], State.ERROR)
    await outcomes.reprocess(world.connection, [task], statuses=ALL_ENDINGS, **REPROCESS)
    assert await world.outcome(task) is None
    row = await world.row(task)
    assert (row["run"], row["attempt"], row["lease"]) == (2, 0, first.lease)
    assert await world.counted() == {0: 1}
    noted = await world.connection.fetchrow("select cause, burned, error from penstock.attempts")
    assert (noted["cause"], noted["burned"]) == ("reprocess", False)
    again = await world.claim_one(a)
    assert again.lease > first.lease
    assert await world.finish(a, [first]) == 0
    assert await world.finish(a, [again]) == 1


async def test_a_reprocess_of_a_cancelled_lane_starts_in_a_lane_that_runs(world: World):
    task = await world.put_one()
    await lanes.cancel(world.connection, world.pipeline, "default", "me")
    await queue.sweep_cancelled(world.connection, 10)
    assert await outcomes.reprocess(world.connection, [task], statuses=ALL_ENDINGS, **REPROCESS) == [task]
    lane = (await world.row(task))["lane"]
    assert lane != world.lane
    assert await world.connection.fetchval(
        "select active and cancelled_at is null from penstock.lanes where id = $1", lane
    )
    assert await queue.sweep_cancelled(world.connection, 10) == 0
