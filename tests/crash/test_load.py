"""Many at once: equal submits, and a big tenant beside a small one."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock
from penstock.testing.ledger import FOLDER, Ledger
from penstock.workers.inprocess import worker
from tests.crash.crash_app import quick


@pytest.fixture(autouse=True)
def _ledger_here(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(ledger.folder))


async def test_64_equal_submits_at_once_are_one_task(app: Penstock, connection: asyncpg.Connection) -> None:
    same = quick.options(idempotency_key="order-17")
    tasks = await asyncio.gather(*(same.enqueue(n) for n in range(64)))
    assert len({task.id for task in tasks}) == 1
    assert sum(task.created for task in tasks) == 1
    assert await connection.fetchval("select count(*) from penstock.tasks") == 1
    assert await connection.fetchval("select count(*) from penstock.queue") == 1


async def test_a_tenant_with_one_task_does_not_wait_behind_one_with_a_hundred_thousand(
    app: Penstock, ledger: Ledger
) -> None:
    await quick.options(owner="big").enqueue_many({"n": n, "seconds": 0.01} for n in range(100_000))
    async with worker(app) as running:
        assert running.runner is not None
        while len(ledger.starts()) < 300:  # the inbox is full of the big tenant's tasks by now
            await asyncio.sleep(0.05)
        before = len(ledger.starts())
        small = await quick.options(owner="small").enqueue(7)
        assert await small.result(60) == 7
        await running.stop(0)
    (start,) = ledger.starts()[small.id].values()
    overtook = sum(min(runs.values()) < start for runs in ledger.starts().values()) - before
    assert overtook <= 5000, "of a hundred thousand that were there before it"
