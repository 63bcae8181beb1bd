"""Workers that were taken for dead and come back. Whatever they still do is refused."""

import asyncio
import time
from pathlib import Path

import asyncpg

from penstock import Penstock
from penstock.testing.ledger import Ledger
from tests.crash.conftest import LEASE_SECONDS, StartWorker, eventually, leased, started
from tests.crash.crash_app import effect, holds_the_gil, patient, quick

FROZEN_SECONDS = 1.3 * LEASE_SECONDS


async def test_a_thawed_worker_starts_nothing_of_its_old_inbox_and_settles_nothing(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    zombie = start_worker(pool_size="2")
    tasks = [await quick.enqueue(n, seconds=0.4) for n in range(40)]
    await started(ledger, tasks[0].id)
    zombie.freeze()
    begun = {task.id for task in tasks if task.id in ledger.starts()}
    start_worker(lease_seconds="60")  # however seldom it gets to run, nothing of its own runs twice
    await asyncio.sleep(FROZEN_SECONDS)

    async def taken_over() -> bool:
        return await leased(connection) == 0 and bool(
            await connection.fetchval("select count(*) > 0 from penstock.workers where died_at is not null")
        )

    await eventually(taken_over, what="everything was rescued and finished by the other worker")
    zombie.thaw()
    zombie.wait_ready(starts=2)
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(40))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit
    twice = {task_id for task_id, runs in ledger.starts().items() if len(runs) > 1}
    assert twice <= begun, "only what ran when it froze may have run twice"
    assert zombie.events("worker.died") == 1


async def test_a_runner_whose_supervisor_is_frozen_ends_before_somebody_else_takes_its_tasks(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    first = start_worker()
    task = await patient.enqueue(str(tmp_path / "gate"))
    await started(ledger, task.id)
    (runner,) = first.runners()
    first.freeze_supervisor()
    ended_at: list[float] = []

    async def ended() -> bool:
        if runner.is_running():
            return False
        ended_at.append(time.time())
        return True

    await eventually(ended, what="the end of the runner without a heartbeat")
    start_worker()
    await started(ledger, task.id, times=2)
    assert ended_at[0] < max(ledger.starts()[task.id].values())
    first.thaw()
    (tmp_path / "gate").touch()
    assert await task.result(60) == "opened"


async def test_a_handler_that_holds_the_gil_keeps_its_lease_under_a_supervisor(
    app: Penstock, ledger: Ledger, start_worker: StartWorker
) -> None:
    first = start_worker()
    second = start_worker()
    task = await holds_the_gil.enqueue(3 * LEASE_SECONDS)
    assert await task.result(3 * LEASE_SECONDS + 60) == "let go"
    assert len(ledger.starts()[task.id]) == 1
    assert first.events("worker.died") == second.events("worker.died") == 0


async def test_a_transaction_frozen_before_its_commit_holds_up_no_rescue_but_its_own(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    """It has settled its task already, and only the commit is missing: that row is locked."""
    zombie = start_worker(failpoints="during_transaction:sleep=3")
    frozen = await effect.enqueue(1)
    neighbours = [await quick.enqueue(n, seconds=1.0) for n in range(5)]

    async def settled_but_not_committed() -> bool:
        return bool(
            await connection.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and application_name = 'penstock handlers' and state = 'idle in transaction'"
                " and query like '%insert into penstock.outcomes%'"
            )
        )

    await eventually(settled_but_not_committed)
    zombie.freeze()
    start_worker()
    for task in neighbours:
        await task.result(60)
    zombie.thaw()
    assert await frozen.result(60) == 1
    audit = await ledger.audit(connection, [frozen.id], transactional=[frozen.id])
    assert audit.settled_twice == []


async def test_ten_thousand_stale_settlements_are_refused(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger
) -> None:
    """Straight at the storage, with every way a lease can be stale."""
    from penstock.lifecycle import State
    from penstock.model import Finish
    from penstock.storage import queue

    job = await quick.enqueue_many([{"n": n} for n in range(2500)])
    rows = await connection.fetch(
        "update penstock.queue set worker = 7, lease = nextval('penstock.lease_numbers') + 10"
        " returning task_id, lease, stage"
    )
    assert len(rows) == job.count
    accepted = 0
    for worker, shift in ((7, -1), (7, 1), (8, 0), (6, 0)):
        stale = [Finish(row["task_id"], row["lease"] + shift, row["stage"], State.DONE, None, None) for row in rows]
        accepted += await queue.finish(connection, worker, stale)
    assert accepted == 0
    assert await connection.fetchval("select count(*) from penstock.outcomes") == 0
