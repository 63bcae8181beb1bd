"""The schema changes while workers work: killed in the middle, twice at once, with workers older and newer than it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import orjson

from penstock import Penstock
from penstock.core.handles import Task
from penstock.storage.migrate import applied, migrations, newest
from penstock.testing.ledger import Ledger
from tests.cli.conftest import environment
from tests.crash.conftest import ROOT, StartWorker, eventually
from tests.crash.crash_app import quick
from tests.crash.newer_penstock import MIDDLE

_NEWER = [sys.executable, "-m", "tests.crash.newer_penstock"]
_IN_THE_MIDDLE = (
    "select exists (select from pg_locks l join pg_database d on d.oid = l.database"
    " where l.locktype = 'advisory' and not l.granted and l.objid = $1 and d.datname = current_database())"
)
_MIGRATING = (
    "select count(*) from pg_stat_activity where application_name = 'penstock migrate' and datname = current_database()"
)
_COLUMNS = "select count(*) from information_schema.columns where column_name = 'added_later'"


def newer(*arguments: str, url: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*_NEWER, *arguments],
        env=environment(PENSTOCK_DATABASE_URL=url),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def ended(process: "subprocess.Popen[bytes]", seconds: float = 60) -> tuple[int, str, str]:
    out, error = await asyncio.to_thread(process.communicate, timeout=seconds)
    return process.returncode, out.decode(), error.decode()


class Load:
    """Tasks that keep coming while the test does something else."""

    def __init__(self) -> None:
        self.tasks: list[Task[int]] = []

    async def come(self) -> None:
        while True:
            self.tasks.append(await quick.enqueue(len(self.tasks), seconds=0.01))
            await asyncio.sleep(0.01)

    async def is_load(self) -> bool:
        return len(self.tasks) > 20

    async def check(self, ledger: Ledger, connection: asyncpg.Connection) -> None:
        results = await asyncio.gather(*(task.result(60) for task in self.tasks))
        assert results == list(range(len(self.tasks)))
        audit = await ledger.audit(connection, [task.id for task in self.tasks])
        assert audit.exact, audit


@asynccontextmanager
async def load() -> AsyncIterator[Load]:
    made = Load()
    coming = asyncio.create_task(made.come())
    try:
        yield made
        await eventually(made.is_load, what="more than 20 tasks")
        assert not coming.done() or coming.result() is None
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def killed_in_its_middle(connection: asyncpg.Connection, database_url: str) -> None:
    """A migration that waits between two of its statements dies there."""
    await connection.execute("select pg_advisory_lock($1)", MIDDLE)
    victim = newer("migrate", url=database_url)

    async def in_the_middle() -> bool:
        return bool(await connection.fetchval(_IN_THE_MIDDLE, MIDDLE))

    await eventually(in_the_middle, what="the migration between its statements")
    victim.kill()
    await ended(victim)
    await connection.execute("select pg_advisory_unlock($1)", MIDDLE)


async def test_a_migration_killed_in_its_middle_under_load_leaves_nothing_and_can_be_run_again(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker()
    async with load() as coming:
        await killed_in_its_middle(connection, database_url)
        again = await ended(newer("migrate", "-o", "json", url=database_url))
        assert again[0] == 0, again
        assert orjson.loads(again[1])["applied"] == [f"{newest() + 1:04d} later"]
    assert await applied(connection) == (*(one.version for one in migrations()), newest() + 1)
    assert await connection.fetchval(_COLUMNS) == 2
    await coming.check(ledger, connection)
    assert worker.alive


async def test_a_migration_killed_in_its_middle_changes_nothing(
    connection: asyncpg.Connection, database_url: str
) -> None:
    await killed_in_its_middle(connection, database_url)

    async def gone() -> bool:
        return not await connection.fetchval(_MIGRATING)

    await eventually(gone, what="the end of the killed migration's backend")
    assert await connection.fetchval(_COLUMNS) == 0
    assert await applied(connection) == tuple(one.version for one in migrations())


async def test_two_migrations_at_once_under_load_apply_it_once_and_older_workers_go_on(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    before = start_worker()
    async with load() as coming:
        both = [newer("migrate", "-o", "json", url=database_url) for _ in range(2)]
        answers = [await ended(one) for one in both]
        assert [code for code, _, _ in answers] == [0, 0], answers
        steps = sorted(len(orjson.loads(out)["applied"]) for _, out, _ in answers)
        assert steps == [0, 1]
        # An older Penstock on the newer schema: the one that was there, and one that starts now.
        after = start_worker()
        seen = len(coming.tasks)
        before.kill()

        async def more() -> bool:
            return len(coming.tasks) > seen + 20

        await eventually(more)
    await coming.check(ledger, connection)
    assert after.alive


async def test_a_newer_worker_refuses_an_older_schema_and_the_older_one_does_the_work(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    tasks = [await quick.enqueue(n) for n in range(20)]
    code, _, said = await ended(newer("worker", "--app", "tests.crash.crash_app:app", url=database_url))
    assert code == 4
    assert f"The schema is at version {newest()}, this Penstock needs {newest() + 1}." in said
    assert said.splitlines()[-1].strip() == "next: penstock migrate"
    assert await connection.fetchval("select count(*) from penstock.queue where worker is null") == 20
    start_worker()
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(20))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit
    assert audit.extra_runs == 0
