"""The database is cut, restarted, frozen, read-only. Results stay exact, and work drains again without help."""

import asyncio
import signal
import time
from functools import partial
from pathlib import Path

import asyncpg
import psutil
import pytest

from penstock import Penstock, Task, embedded
from penstock.errors import DatabaseReadOnly, DatabaseUnavailable
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.proxy import Proxy
from tests.crash.conftest import StartWorker, eventually, opened_on, started
from tests.crash.crash_app import effect, patient, quick

_ENDED = "select count(*) from penstock.outcomes"


async def test_terminated_backends_cost_time_and_nothing_else(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    """One connection for every twentieth task that ends, so that a slow machine gets on as well."""
    plain = [await quick.enqueue(n, seconds=0.02) for n in range(600)]
    tried_often = effect.options(max_attempts=50)
    transactional = [await tried_often.enqueue(n, seconds=0.02) for n in range(200)]
    tasks = [*plain, *transactional]
    left_at_last_cut = len(tasks) + 20
    cuts = 0

    async def all_ended() -> bool:
        nonlocal cuts, left_at_last_cut
        left = len(await ledger_table.unfinished(connection, [task.id for task in tasks]))
        if left and left <= left_at_last_cut - 20:
            await ledger_table.terminate_one(connection)
            cuts, left_at_last_cut = cuts + 1, left
        return not left

    await connection.execute("set application_name = 'the test itself'")
    await app.close()  # its pool is not what is tested here
    # They come to work that is there: otherwise they might be done with it before the first cut.
    start_worker(ready=False)
    start_worker(ready=False)
    await eventually(all_ended, seconds=100)
    audit = await ledger.audit(
        connection, [task.id for task in tasks], transactional=[task.id for task in transactional]
    )
    assert audit.exact, audit
    assert audit.states == {2: 800}
    assert cuts >= 10


async def test_without_its_listener_a_worker_finds_tasks_by_polling(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    start_worker(poll_max_seconds="0.3")
    await (await quick.enqueue(0)).result(60)
    for n in range(5):
        await ledger_table.terminate_listeners(connection)
        assert await (await quick.enqueue(n)).result(60) == n


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
async def test_a_restarted_server_finds_its_workers_again(
    number: signal.Signals, own_server: embedded.EmbeddedServer, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker(url=own_server.url, lease_seconds="60", heartbeat_seconds="3")
    async with opened_on(own_server.url):
        tasks = [await quick.enqueue(n, seconds=0.05) for n in range(300)]
        await started(ledger, tasks[20].id)
    for _ in range(2):
        pid = int((own_server.home / "data" / "postmaster.pid").read_text().split()[0])
        psutil.Process(pid).send_signal(number)
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=60)
        begun = len(ledger.starts())
        await asyncio.to_thread(own_server.ensure_running)

        async def goes_on(begun: int = begun) -> bool:
            return len(ledger.starts()) >= min(begun + 10, len(tasks))

        await eventually(goes_on, what="the start of further tasks")
    async with opened_on(own_server.url) as app:
        for task in tasks:
            await task.result(60)
        async with app.connection() as connection:
            audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit
    assert audit.extra_runs == 0, "what ran went on, and was settled when the server was back"
    assert worker.events("worker.died") == 0


async def test_a_runner_cut_off_from_the_database_stops_before_its_lease_ends(
    app: Penstock, database_url: str, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    async with Proxy(database_url) as proxy:
        cut_off = start_worker(ready=False, url=proxy.url)
        await asyncio.to_thread(cut_off.wait_ready)
        task = await patient.enqueue(str(tmp_path / "gate"))
        await started(ledger, task.id)
        (runner,) = cut_off.runners()
        proxy.blackhole()

        async def ended() -> bool:
            return not runner.is_running() or runner.status() == psutil.STATUS_ZOMBIE

        await eventually(ended, what="the end of the runner that hears nothing")
        ended_at = time.time()
        healthy = start_worker(ready=False)
        await asyncio.to_thread(healthy.wait_ready)
        await started(ledger, task.id, times=2)
        assert ended_at < max(ledger.starts()[task.id].values())
        (tmp_path / "gate").touch()
        assert await task.result(60) == "opened"
        proxy.restore()
        await asyncio.to_thread(cut_off.wait_ready, starts=2)
    history = (await task.details())["history"]
    assert [(row["cause"], row["burned"]) for row in history] == [("rescue", False)], history


async def test_a_commit_whose_answer_never_comes_is_not_done_twice(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    async with Proxy(database_url) as proxy:
        worker = start_worker(ready=False, url=proxy.url, lease_seconds="30", heartbeat_seconds="3")
        await asyncio.to_thread(worker.wait_ready)
        tasks: list[Task[int]] = []
        unheard = 0
        while unheard < 3:
            # All at once, so that some are left to end however long this takes.
            async with connection.transaction():
                tasks += [await quick.enqueue_on(connection, len(tasks) + n, seconds=0.05) for n in range(100)]
            before = await _more_end(connection)
            proxy.half_open()
            await eventually(partial(_answer_is_held, proxy), what="a settle or a claim")
            unheard += proxy.holds_answer("penstock settle") and await connection.fetchval(_ENDED) > before
            proxy.cut()
            proxy.restore()
        assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(len(tasks)))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit


async def _answer_is_held(proxy: Proxy) -> bool:
    """Of a settle; or of a claim, which may have been all that the worker waited for."""
    return proxy.holds_answer("penstock settle") or proxy.holds_answer("penstock claim")


async def _more_end(connection: asyncpg.Connection) -> int:
    """How many tasks have ended, when it is one more than before."""
    before = await connection.fetchval(_ENDED)

    async def more() -> int | None:
        ended: int = await connection.fetchval(_ENDED)
        return ended if ended > before else None

    return await eventually(more, what="the end of one more task")


async def test_a_read_only_database_is_named_and_waited_for(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker()
    tasks = [await quick.enqueue(n, seconds=0.3) for n in range(20)]
    await started(ledger, tasks[0].id)
    name = await connection.fetchval("select current_database()")
    await connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
    await connection.execute("set default_transaction_read_only = off")
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()"
    await connection.fetch(cut, name)
    await app.close()
    with pytest.raises((DatabaseReadOnly, DatabaseUnavailable), match=r"read-only|reached"):
        await quick.enqueue(1)
    await connection.execute(f'alter database "{name}" set default_transaction_read_only = off')
    await connection.fetch(cut, name)
    await app.close()
    for task in tasks:
        await task.result(60)
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit
    assert worker.alive


async def test_a_pooler_in_transaction_mode_needs_two_settings(
    app: Penstock, ledger: Ledger, start_worker: StartWorker
) -> None:
    """No prepared statements, no LISTEN, no session settings: what such a pooler can carry."""
    worker = start_worker(statement_cache="0", listen="false", poll_max_seconds="0.2")
    tasks = [await quick.enqueue(n) for n in range(50)]
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(50))
    assert worker.events("database.lost") == 0
