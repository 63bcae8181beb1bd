"""A real PgBouncer in transaction mode before the server: what works there, and what says why it does not."""

import asyncio
import os
from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import DatabaseUnavailable
from penstock.storage import database
from penstock.storage.migrate import migrate, migrations, schemas
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from tests.crash.conftest import StartWorker, eventually, opened_on
from tests.crash.crash_app import effect, quick
from tests.crash.servers import pooler, pooler_program
from tests.databases import BUNDLED

pytestmark = pytest.mark.skipif(
    pooler_program() is None and not os.environ.get("PENSTOCK_TEST_POOLER"),
    reason="PgBouncer is not installed; with it (Debian: apt-get install pgbouncer) these tests run",
)
_SETTINGS = {"statement_cache": "0", "listen": "false", "poll_max_seconds": "0.2"}


@pytest.fixture
async def pooled(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[str]:
    """The database through a pooler that shares four connections among all."""
    await ledger_table.create(connection)
    with pooler(database_url, size=4) as url:
        yield url


async def test_everything_works_through_a_pooler_with_its_two_settings(
    pooled: str, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker(ready=False, url=pooled, **_SETTINGS)
    async with opened_on(pooled, statement_cache=0, listen=False) as app:
        plain = await asyncio.gather(*(quick.enqueue(n) for n in range(60)))
        job = await quick.enqueue_many([{"n": n} for n in range(200)])
        transactional = [await effect.enqueue(n) for n in range(20)]
        async with app.connection() as through:
            # The function that triggers and other languages call.
            from_sql = await through.fetchval("select task_id from penstock.enqueue('quick', '{\"n\": 7}')")
        assert await asyncio.gather(*(task.result(60) for task in plain)) == list(range(60))
        assert [await task.result(60) for task in transactional] == list(range(20))
        await job.wait(60)

        async def nothing_waits() -> bool:
            return not await connection.fetchval("select count(*) from penstock.queue")

        await eventually(nothing_waits)
        ids = [*(task.id for task in (*plain, *transactional)), from_sql]
        audit = await ledger.audit(connection, ids, transactional=[task.id for task in transactional])
    assert audit.exact, audit
    assert worker.events("database.lost") == 0, worker.tail()


async def test_with_listen_left_on_a_worker_polls_and_loses_nothing(pooled: str, start_worker: StartWorker) -> None:
    """LISTEN is accepted by the pooler, and then concerns a connection that somebody else gets."""
    start_worker(ready=False, url=pooled, statement_cache="0", poll_max_seconds="0.2")
    async with opened_on(pooled, statement_cache=0):
        tasks = [await quick.enqueue(n) for n in range(20)]
        assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(20))


async def test_a_worker_without_the_settings_says_which_ones(pooled: str, start_worker: StartWorker) -> None:
    worker = start_worker(ready=False, url=pooled)

    async def said() -> bool:
        return "PENSTOCK_STATEMENT_CACHE=0 and PENSTOCK_LISTEN=false" in worker.text()

    await eventually(said, what="the sentence about the pooler")


async def test_results_wait_for_the_right_settings_instead_of_ending_as_errors(
    app: Penstock, database_url: str, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    """A pooler may drop the start-up parameter that gives it away; then statements meet the wrong connections."""
    with pooler(database_url, size=2, ignored="idle_in_transaction_session_timeout") as pooled:
        tasks = [await quick.enqueue(n, seconds=0.01) for n in range(300)]
        wrong = start_worker(ready=False, url=pooled, listen="false")

        async def said() -> bool:
            return "PENSTOCK_STATEMENT_CACHE=0 and PENSTOCK_LISTEN=false" in wrong.text()

        await eventually(said, what="the sentence about the pooler")
        await asyncio.to_thread(wrong.kill)
        start_worker(ready=False, url=pooled, **_SETTINGS)
        assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(300))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit


async def test_an_enqueue_that_meets_another_connection_says_which_settings_to_change(pooled: str) -> None:
    async with opened_on(pooled) as app:
        answers = await asyncio.gather(*(_enqueued(app, n) for n in range(200)))
    refused = [answer for answer in answers if answer is not None]
    for error in refused:
        assert isinstance(error, DatabaseUnavailable)
    assert any("PENSTOCK_STATEMENT_CACHE=0" in str(error) for error in refused), refused[:1]


async def _enqueued(app: Penstock, n: int) -> Exception | None:
    try:
        await quick.enqueue(n)
    except Exception as error:
        return error
    return None


async def test_migrations_through_a_pooler_leave_no_lock_behind(pooled: str, connection: asyncpg.Connection) -> None:
    settings = load(database_url=pooled, statement_cache=0, listen=False)
    await connection.execute(f"drop schema {', '.join(schemas(BUNDLED))} cascade")
    migrating = [await database.connect(settings, pooled, purpose="migrate") for _ in range(3)]
    applied = await asyncio.gather(*(migrate(one, BUNDLED) for one in migrating))
    labels = [migration.label for one in applied for migration in one]
    assert sorted(labels) == sorted(one.label for one in (*migrations(), *BUNDLED))
    held = (
        "select count(*) from pg_locks l join pg_database d on d.oid = l.database"
        " where l.locktype = 'advisory' and d.datname = current_database()"
    )
    assert await connection.fetchval(held) == 0
    for one in migrating:
        await one.close()
