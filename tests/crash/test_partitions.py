"""A host is cut off for longer than its lease, again and again. Nobody saw its tasks die, so they burn nothing."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from penstock import Penstock
from penstock.events import Events
from penstock.testing.ledger import Ledger
from penstock.testing.proxy import Proxy
from penstock.upkeep.duties import Rescue
from tests.crash.conftest import StartWorker, eventually, started
from tests.crash.crash_app import patient

CUTS = 3


@pytest.mark.parametrize("way", ["both ways", "one way"])
async def test_a_host_cut_off_three_times_for_longer_than_its_lease_loses_doubles_and_burns_nothing(
    way: str,
    app: Penstock,
    connection: asyncpg.Connection,
    database_url: str,
    ledger: Ledger,
    start_worker: StartWorker,
    tmp_path: Path,
) -> None:
    """The task runs on at every cut, and the last heartbeat had named it; the rescue comes from elsewhere."""
    rescue = Rescue(events=Events(), crash_limit=3, rescue_limit=10)
    async with Proxy(database_url) as proxy:
        worker = start_worker(ready=False, url=proxy.url)
        await asyncio.to_thread(worker.wait_ready)
        task = await patient.enqueue(str(tmp_path / "gate"))
        for cut in range(1, CUTS + 1):
            await started(ledger, task.id, times=cut)
            await eventually(lambda: _named(connection), what="the heartbeat that names the task as running")
            (runner,) = worker.runners()
            proxy.blackhole() if way == "both ways" else proxy.half_open()

            async def rescued() -> bool:
                return (await rescue.run_once(connection))["rescued"] == 1

            await eventually(rescued, what=f"the rescue after cut {cut}")
            assert not runner.is_running(), "it must not run on while somebody else may have its task"
            proxy.restore()
            await asyncio.to_thread(worker.wait_ready, starts=cut + 1)
        await started(ledger, task.id, times=CUTS + 1)
        (tmp_path / "gate").touch()
        assert await task.result(60) == "opened"
    details = await task.details()
    assert [(row["cause"], row["burned"]) for row in details["history"]] == [("rescue", False)] * CUTS
    assert details["attempts"] == 1
    audit = await ledger.audit(connection, [task.id])
    assert audit.exact, audit


async def _named(connection: asyncpg.Connection) -> Any:
    return await connection.fetchval(
        "select count(*) from penstock.queue q join penstock.workers w on w.id = q.worker"
        " where q.lease = any (w.running)"
    )
