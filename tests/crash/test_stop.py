"""SIGTERM: stop claiming, finish or hand back within the grace, burn nothing."""

from pathlib import Path

import asyncpg

from penstock import Penstock
from penstock.testing.ledger import Ledger
from tests.crash.conftest import StartWorker, leased, started
from tests.crash.crash_app import holds_the_gil, patient, quick


async def test_a_worker_stopped_under_load_burns_nothing_and_leaves_nothing_leased(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    worker = start_worker()
    gate = tmp_path / "gate"
    endless = [await patient.enqueue(str(gate)) for _ in range(5)]
    busy = [await quick.enqueue(n, seconds=0.3) for n in range(100)]
    await started(ledger, endless[-1].id)
    await started(ledger, busy[0].id)
    worker.terminate()
    assert worker.wait_ended(60) == 0
    assert await leased(connection) == 0
    assert await connection.fetchval("select count(*) from penstock.attempts where burned") == 0
    assert await connection.fetchval("select max(attempt) from penstock.queue") == 0
    assert await connection.fetchval("select count(*) from penstock.outcomes where status <> 2") == 0
    gone = await connection.fetch("select stopped_at, died_at from penstock.workers")
    assert all(row["stopped_at"] is not None and row["died_at"] is None for row in gone)
    gate.touch()
    start_worker()
    for task in (*endless, *busy):
        await task.result(60)
    audit = await ledger.audit(connection, [task.id for task in (*endless, *busy)])
    assert audit.exact, audit


async def test_a_handler_that_cannot_be_stopped_is_killed_at_the_end_of_the_grace_and_burns_nothing(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker()
    task = await holds_the_gil.enqueue(3600)
    await started(ledger, task.id)
    worker.terminate()
    worker.wait_ended(60)
    assert await leased(connection) == 0
    details = await task.details()
    assert [(row["cause"], row["burned"]) for row in details["history"]] == [("hand back", False)]
