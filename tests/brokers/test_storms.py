"""The broker goes away, is emptied, is restarted, freezes, and workers are killed: every task still ends exactly once.

Small in `make test`; `make test-all` makes the storms of the promise: 20,000 tasks, and a broker that is away for 60 s.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest
import redis

from penstock import Penstock
from penstock.testing import ledger_table
from penstock.testing.brokers import Server
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.brokers.world import BROKERS, eventually
from tests.crash import crash_app
from tests.crash.conftest import QUICK_LEASE, ROOT, opened_on
from tests.sizes import size
from tests.warm import warm_starts

TASKS = size("STORM_TASKS", small=600, whole=20_000)
AWAY_SECONDS = size("STORM_AWAY", small=2, whole=60)
SECONDS = 60 + TASKS / 50 + AWAY_SECONDS * 2
pytestmark = pytest.mark.timeout(SECONDS + 60)

Trouble = Callable[["Storm"], Awaitable[None]]


class Storm:
    def __init__(self, app: Penstock, broker: str, server: Server, ledger: Ledger, url: str, folder: Path) -> None:
        self.app = app
        self.broker = broker
        self.server = server
        self.ledger = ledger
        self.url = url
        self.folder = folder
        self.trees: list[WorkerTree] = []

    def start_worker(self, *, ready: bool = True) -> WorkerTree:
        settings = {
            "TRANSPORT": self.broker,
            f"{self.broker.upper()}_URL": self.server.url,
            "LIMITER": "postgres",
            "BROKER_PATIENCE_SECONDS": "2",
            "RESEND_SECONDS": "3",
            "RESEND_EVERY_SECONDS": "0.5",
        }
        environment = {**QUICK_LEASE, **{f"PENSTOCK_{name}": value for name, value in settings.items()}}
        tree = WorkerTree(
            "tests.crash.crash_app:app",
            url=self.url,
            log=self.folder / f"worker-{len(self.trees)}.log",
            environment={**environment, **self.ledger.environment},
            path=[str(ROOT)],
            start=warm_starts().start,
        )
        self.trees.append(tree)
        if ready:
            tree.wait_ready()
        return tree

    async def ended(self) -> int:
        async with self.app.connection() as connection:
            count: int = await connection.fetchval("select count(*) from penstock.outcomes")
        return count

    async def reach(self, count: int) -> None:
        async def enough() -> bool:
            return await self.ended() >= count

        await eventually(enough, what=f"the end of {count} tasks", seconds=SECONDS)

    async def go_on(self) -> None:
        """Until further tasks have ended, or all of the first half."""
        await self.reach(min(await self.ended() + TASKS // 20, TASKS // 2))

    def empty(self) -> None:
        """What was in the broker is gone; with RabbitMQ the node forgets its data."""
        if self.broker == "redis":
            with redis.Redis.from_url(self.server.url) as client:
                client.flushall()
        else:
            self.server.kill()
            shutil.rmtree(self.server.folder / "data", ignore_errors=True)
            self.server.start()


@pytest.fixture(params=BROKERS)
async def storm(
    request: pytest.FixtureRequest, database_url: str, connection: asyncpg.Connection, tmp_path: Path
) -> AsyncIterator[Storm]:
    server = request.getfixturevalue("own_redis" if request.param == "redis" else "own_rabbit")
    await ledger_table.create(connection)
    async with opened_on(database_url) as app:
        made = Storm(app, request.param, server, Ledger(tmp_path / "ledger"), database_url, tmp_path)
        yield made
        for tree in made.trees:
            tree.close()


async def _stopped(storm: Storm) -> None:
    storm.server.stop()
    await asyncio.sleep(AWAY_SECONDS)
    storm.server.start()


async def _restarted(storm: Storm) -> None:
    for _ in range(2):
        storm.server.restart()
        await storm.go_on()


async def _killed(storm: Storm) -> None:
    storm.server.kill()
    storm.server.start()


async def _emptied(storm: Storm) -> None:
    await asyncio.to_thread(storm.empty)
    await storm.go_on()
    await asyncio.to_thread(storm.empty)


async def _frozen(storm: Storm) -> None:
    storm.server.freeze()
    await asyncio.sleep(AWAY_SECONDS)
    storm.server.thaw()


async def _workers_killed(storm: Storm) -> None:
    for _ in range(3):
        storm.trees[-2].kill()
        storm.start_worker()


@pytest.mark.parametrize(
    "trouble", [_stopped, _restarted, _killed, _emptied, _frozen, _workers_killed], ids=lambda one: one.__name__[1:]
)
async def test_every_task_ends_exactly_once(storm: Storm, trouble: Trouble) -> None:
    storm.start_worker()
    storm.start_worker()
    half = TASKS // 2
    job = await crash_app.effect.enqueue_many([{"n": n} for n in range(half)])
    await storm.reach(half // 4)
    await trouble(storm)
    rest = await crash_app.effect.enqueue_many([{"n": n} for n in range(half, TASKS)])
    await storm.reach(TASKS)
    for one in (job, rest):
        counts = await one.counts()
        assert counts.done == counts.total
    async with storm.app.connection() as connection:
        effects = await connection.fetch("select task_id from penstock_testing.ledger where kind = 'effect'")
        left = await connection.fetchval("select count(*) from penstock.queue")
    assert len(effects) == len({row["task_id"] for row in effects}) == TASKS
    assert left == 0


async def test_a_worker_that_starts_without_its_broker_works_and_joins_it_later(storm: Storm) -> None:
    storm.server.stop()
    storm.start_worker()
    await crash_app.effect.enqueue_many([{"n": n} for n in range(50)])
    await storm.reach(50)
    storm.server.start()
    log = storm.trees[0].log

    async def joined() -> bool:
        return "broker.back" in log.read_text()

    await eventually(joined, what="the broker to be back")
    await crash_app.effect.enqueue_many([{"n": n} for n in range(50)])
    await storm.reach(100)
