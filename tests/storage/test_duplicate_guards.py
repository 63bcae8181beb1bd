"""Why one task is never processed twice at a time: three guards, one behind the other.

(a) In the database a claim is one conditional statement: of many schedulers one wins. (b) The inbox of a runner refuses
what the runner has already. (c) The queue holds one row per task, whoever puts it there.
"""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock.lifecycle import State
from penstock.model import Claimed
from penstock.storage import outcomes, queue, tasks
from penstock.storage.queue import LaneClaim
from penstock.workers.inbox import Held, Inbox, Refusal
from tests.storage.world import World

ROUNDS = 100
SCHEDULERS = 4
ENDED = [State.DONE, State.ERROR]


@pytest.fixture
async def sessions(module_database_url: str) -> AsyncIterator[list[asyncpg.Connection]]:
    """Schedulers with a connection each."""
    opened = [await asyncpg.connect(module_database_url) for _ in range(SCHEDULERS)]
    yield opened
    for one in opened:
        one.terminate()


# ---------------------------------------------------------------- (a) the conditional claim


@pytest.mark.parametrize("how", ["by lane", "by id", "paced"])
async def test_of_schedulers_that_race_for_one_row_exactly_one_wins(
    world: World, sessions: list[asyncpg.Connection], how: str
) -> None:
    names = [await world.worker(f"scheduler {n}") for n in range(SCHEDULERS)]
    wins = dict.fromkeys(names, 0)

    async def grab(connection: asyncpg.Connection, worker: int, task_id: int) -> list[Claimed]:
        match how:
            case "by lane":
                return await world.claim(worker, connection=connection)
            case "by id":
                return await queue.claim_by_id(connection, [task_id], worker)
            case _:
                # What the paced profile does: look first, so that all of them want the same row, then claim.
                ripe = await queue.ripe(connection, [LaneClaim(world.stages[0], world.lane, 10)], 10, 0.0)
                return await queue.claim_by_id(connection, ripe, worker)

    for _ in range(ROUNDS):
        task_id = await world.put_one()
        got = await asyncio.gather(*(grab(*pair, task_id) for pair in zip(sessions, names, strict=True)))
        winners = [(worker, one) for worker, claimed in zip(names, got, strict=True) for one in claimed]
        assert len(winners) == 1
        (worker, claimed), row = winners[0], await world.row(task_id)
        assert (row["worker"], row["lease"]) == (worker, claimed.lease)
        wins[worker] += 1
        assert await world.finish(worker, [claimed]) == 1
    assert sum(wins.values()) == ROUNDS


async def test_a_scheduler_that_waits_for_the_row_of_another_does_not_get_it_afterwards(
    world: World, other: asyncpg.Connection
) -> None:
    """Both chose the row before one of them claimed it; the second has to look again at what it found."""
    task_id = await world.put_one()
    a, b = await world.worker(), await world.worker()
    async with other.transaction():
        assert len(await queue.claim_by_id(other, [task_id], a)) == 1
        assert await queue.claim_by_id(world.connection, [task_id], b) == []
    assert await queue.claim_by_id(world.connection, [task_id], b) == []
    assert (await world.row(task_id))["worker"] == a


async def test_the_paced_look_leaves_young_rows_alone(world: World) -> None:
    old, young, due_later, released = await world.put(4)
    change = "update penstock.queue set {} where task_id = $1"
    for one in (old, due_later, released):
        await world.connection.execute(
            change.format("run_at = now() - interval '1 hour', updated_at = now() - interval '1 hour'"), one
        )
    await world.connection.execute(change.format("run_at = now() - interval '20 minutes'"), due_later)
    await world.connection.execute(change.format("updated_at = now() - interval '20 minutes'"), released)
    wanted = [LaneClaim(world.stages[0], world.lane, 10)]
    assert await queue.ripe(world.connection, wanted, 10, 1800.0) == [old]
    assert set(await queue.ripe(world.connection, wanted, 10, 600.0)) == {old, due_later, released}
    assert set(await queue.ripe(world.connection, wanted, 10, 0.0)) == {old, young, due_later, released}


# ---------------------------------------------------------------- (b) the inbox


def task(task_id: int, stage: int = 1) -> Claimed:
    return Claimed.of(task_id=task_id, lease=1, lane=1, stage=stage)


def refusals(inbox: Inbox, *arrived: Claimed) -> list[Refusal]:
    return [why for _, why in inbox.offer(arrived, {})]


def test_the_inbox_refuses_what_waits_in_it_runs_or_is_in_another_stage() -> None:
    held = Held()
    first, second = Inbox(held=held, size=1000), Inbox(held=held, size=1000)
    assert refusals(first, task(1), task(2)) == []
    assert refusals(first, task(1)) == [Refusal.QUEUED]
    assert refusals(second, task(1, stage=2)) == [Refusal.OTHER_STAGE]
    running = first.take()
    assert running is not None and running.task_id == 1
    assert refusals(first, task(1)) == [Refusal.RUNNING]
    assert refusals(second, task(1, stage=2)) == [Refusal.OTHER_STAGE]
    assert len(first) == 1 and len(second) == 0
    held.let_go([1])  # it was settled
    assert refusals(second, task(1, stage=2)) == []


def test_the_inbox_is_full_at_a_thousand_and_takes_again_what_fits() -> None:
    held = Held()
    inbox = Inbox(held=held, size=1000)
    assert refusals(inbox, *(task(n) for n in range(1, 1001))) == []
    assert refusals(inbox, task(1001), task(1002)) == [Refusal.FULL, Refusal.FULL]
    assert refusals(inbox, task(7)) == [Refusal.QUEUED]  # the reason that counts more
    assert len(inbox) == len(held) == 1000
    assert 1001 not in held
    inbox.take()
    assert refusals(inbox, task(1001), task(1002)) == [Refusal.FULL]


# ---------------------------------------------------------------- (c) one queue row per task


async def test_a_second_row_of_one_task_is_refused_by_the_table(world: World) -> None:
    task_id = await world.put_one()
    with pytest.raises(asyncpg.UniqueViolationError, match="queue_pkey"):
        await world.connection.execute(
            "insert into penstock.queue (task_id, lane, stage, max_attempts) values ($1, $2, $3, 3)",
            task_id,
            world.lane,
            world.stages[0],
        )


async def rows_of(world: World, task_id: int) -> tuple[int, int]:
    """(queue rows, outcomes)"""
    found = await world.connection.fetchrow(
        """select (select count(*) from penstock.queue where task_id = $1) as queued,
                  (select count(*) from penstock.outcomes where task_id = $1) as ended""",
        task_id,
    )
    return found["queued"], found["ended"]


async def test_of_reprocesses_at_the_same_time_one_starts_the_task_and_it_has_one_row(
    world: World, sessions: list[asyncpg.Connection]
) -> None:
    worker = await world.worker()
    task_id = await world.put_one()
    for run in range(1, ROUNDS // 2):
        await world.finish(worker, [await world.claim_one(worker)])
        assert await rows_of(world, task_id) == (0, 1)
        started = await asyncio.gather(
            *(outcomes.reprocess(one, [task_id], statuses=ENDED, by="ann") for one in sessions)
        )
        assert sorted(len(one) for one in started) == [0] * (SCHEDULERS - 1) + [1]
        assert await rows_of(world, task_id) == (1, 0)
        assert (await world.row(task_id))["run"] == run + 1
    assert await world.counted() == {0: 1}


async def test_a_reprocess_that_meets_the_end_of_the_run_finds_one_row_or_one_outcome(
    world: World, sessions: list[asyncpg.Connection]
) -> None:
    worker = await world.worker()
    task_id = await world.put_one()
    for _ in range(ROUNDS // 2):
        if await world.row(task_id) is None:
            await outcomes.reprocess(world.connection, [task_id], statuses=ENDED, by="ann")
        claimed = await world.claim_one(worker)
        _, started, again = await asyncio.gather(
            world.finish(worker, [claimed]),
            outcomes.reprocess(sessions[0], [task_id], statuses=ENDED, by="ann"),
            outcomes.reprocess(sessions[1], [task_id], statuses=ENDED, by="bob"),
        )
        assert len(started) + len(again) <= 1
        queued, ended = await rows_of(world, task_id)
        assert queued + ended == 1


@pytest.mark.parametrize("key", ["idempotency_key", "unique_key"])
async def test_equal_enqueues_at_the_same_time_make_one_task_with_one_row(
    world: World, sessions: list[asyncpg.Connection], key: str
) -> None:
    for n in range(ROUNDS // 4):
        new = tasks.NewTask(pipeline=world.pipeline, input="{}", notify=False, lane="default", **{key: f"site {n}"})
        stored = await asyncio.gather(*(tasks.enqueue(one, new) for one in sessions))
        assert len({task_id for task_id, _ in stored}) == 1
        assert sum(created for _, created in stored) == 1
        assert await rows_of(world, stored[0][0]) == (1, 0)
    assert await world.connection.fetchval("select count(*) from penstock.tasks") == ROUNDS // 4
