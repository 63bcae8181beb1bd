"""Real worker process trees on a real database, with short leases so that a rescue takes two seconds."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from penstock import Penstock, embedded
from penstock.config import load
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash import crash_app
from tests.crash.servers import folder_for_a_server, migrated_server
from tests.warm import warm_starts

LEASE_SECONDS = 2.0
QUICK_LEASE = {
    "PENSTOCK_LEASE_SECONDS": str(LEASE_SECONDS),
    "PENSTOCK_HEARTBEAT_SECONDS": "0.4",
    "PENSTOCK_GRACE_SECONDS": "2",
    "PENSTOCK_KILL_GRACE_SECONDS": "0.5",
}
ROOT = Path(__file__).parents[2]

StartWorker = Callable[..., WorkerTree]


async def eventually(
    condition: Callable[[], Awaitable[Any]], *, seconds: float = 60.0, what: str = "the condition"
) -> Any:
    """Waits for a true answer, which it returns."""
    deadline = time.monotonic() + seconds
    while not (answer := await condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        await asyncio.sleep(0.02)
    return answer


async def started(ledger: Ledger, task_id: int, times: int = 1) -> None:
    """Until the task has started for the ``times``-th time."""

    async def enough() -> bool:
        return len(ledger.starts().get(task_id, {})) >= times

    await eventually(enough, what=f"start {times} of task {task_id}")


async def leased(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("select count(*) from penstock.queue where worker is not null")
    return count


@asynccontextmanager
async def opened_on(url: str, **settings: Any) -> AsyncIterator[Penstock]:
    """The application of ``crash_app``, which only enqueues here: the workers are processes."""
    app = crash_app.app
    app.use(load(database_url=url, **settings), app.events)
    await app.open()
    try:
        yield app
    finally:
        await app.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
async def app(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[Penstock]:
    await ledger_table.create(connection)
    async with opened_on(database_url) as opened:
        yield opened


@pytest.fixture
def start_worker(request: pytest.FixtureRequest, tmp_path: Path, ledger: Ledger) -> Iterator[StartWorker]:
    """Starts trees, and ends what is left of them after the test."""
    trees: list[WorkerTree] = []

    def start(*, ready: bool = True, url: str | None = None, cold: bool = False, **settings: str) -> WorkerTree:
        environment = {**QUICK_LEASE, **{f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}}
        tree = WorkerTree(
            "tests.crash.crash_app:app",
            url=url or request.getfixturevalue("database_url"),
            log=tmp_path / f"worker-{len(trees)}.log",
            environment={**environment, **ledger.environment},
            path=[str(ROOT)],
            start=subprocess.Popen if cold else warm_starts().start,
        )
        trees.append(tree)
        if ready:
            tree.wait_ready()
        return tree

    yield start
    for tree in trees:
        tree.close()


@pytest.fixture
async def own_server() -> AsyncIterator[embedded.EmbeddedServer]:
    """A server that the test may stop: migrated, with a ledger."""
    # Tests kill its processes and never the machine: nothing has to reach a disk.
    with folder_for_a_server() as folder:
        async with migrated_server(folder, {"fsync": "off"}) as server:
            yield server
