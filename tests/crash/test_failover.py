"""The primary falls silent, or new connections reach a standby for seconds. Everything goes on by itself afterwards."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import asyncpg
import pytest

from penstock import Penstock
from penstock.errors import DatabaseError, DatabaseReadOnly, DatabaseUnavailable
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from penstock.testing.proxy import Proxy
from tests.crash.conftest import StartWorker, eventually, opened_on, started
from tests.crash.crash_app import effect, patient, quick
from tests.crash.servers import folder_for_a_server, migrated_server, streaming_standby

_OURS = "select application_name from pg_stat_activity where application_name like 'penstock %'"
_HOLDERS = "select count(distinct worker) from penstock.queue"
_ACTIVE = f"{_OURS} and state <> 'idle'"
_KEPT = {"claim", "settle", "heartbeat", "listen", "upkeep"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A primary, a standby that follows it, and a proxy that leads to one of them."""

    primary: asyncpg.Connection
    standby: asyncpg.Connection
    proxy: Proxy
    primary_url: str
    standby_url: str

    @property
    def anywhere(self) -> str:
        """For whoever takes any server: only its answer to a write tells that it is the wrong one."""
        return f"{self.proxy.url}&target_session_attrs=any"

    @property
    def both(self) -> str:
        """Both servers in one URL, in the usual form; the first one through the proxy."""
        login, folders = urlsplit(self.proxy.url).netloc, (_folder(self.proxy.url), _folder(self.standby_url))
        hosts = ",".join(f"{quote(folder, safe='')}:5432" for folder in folders)
        return f"postgresql://{login}{hosts}/penstock?target_session_attrs=read-write"

    def switch_to_standby(self) -> None:
        self.proxy.lead_to(self.standby_url)
        self.proxy.cut()

    def switch_back(self) -> None:
        """Nothing is cut: whoever kept a connection to the standby still has it."""
        self.proxy.lead_to(self.primary_url)


def _folder(url: str) -> str:
    return parse_qs(urlsplit(url).query)["host"][0]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(folder_for_a_server())
        primary = await stack.enter_async_context(migrated_server(folder, {"fsync": "off"}))
        standby = await stack.enter_async_context(streaming_standby(folder, primary))
        proxy = await stack.enter_async_context(Proxy(primary.url))
        opened = [await asyncpg.connect(one.url) for one in (primary, standby)]
        yield Pair(
            primary=opened[0],
            standby=opened[1],
            proxy=proxy,
            primary_url=primary.url,
            standby_url=standby.url,
        )
        for connection in opened:
            await connection.close()


def _lost(worker: WorkerTree, link: str) -> bool:
    return any('"event":"database.lost"' in line and f'"link":"{link}"' in line for line in worker.text().splitlines())


async def _refused() -> bool:
    try:
        await quick.enqueue(0)
    except DatabaseReadOnly:
        return True
    except DatabaseUnavailable:
        return False
    raise AssertionError("a standby stored a task")


async def test_seconds_on_a_standby_cost_time_and_nothing_else(
    pair: Pair, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    async with opened_on(pair.proxy.url, poll_max_seconds=0.2) as app:
        await _through_a_switch(app, pair, ledger, start_worker, tmp_path)


async def _through_a_switch(
    app: Penstock, pair: Pair, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    slow_lease = {"lease_seconds": "60", "heartbeat_seconds": "0.5", "poll_max_seconds": "0.2"}
    workers = [start_worker(ready=False, url=url, **slow_lease) for url in (pair.proxy.url, pair.anywhere)]
    for worker in workers:
        await asyncio.to_thread(worker.wait_ready)
    held = await patient.enqueue(str(tmp_path / "gate"))
    tasks = [held, *[await quick.enqueue(n, seconds=0.3) for n in range(200)]]
    effects = [await effect.enqueue(n, seconds=0.05) for n in range(50)]
    await started(ledger, held.id)

    async def both_work() -> bool:
        return bool(await pair.primary.fetchval(_HOLDERS) == 2)

    await eventually(both_work, what="tasks at both workers")
    pair.switch_to_standby()
    await eventually(_refused, what="an enqueue that the standby refuses")

    async def everybody_met_it() -> bool:
        links = all(_lost(worker, link) for link in ("claim", "settle", "listen") for worker in workers)
        return links and all(worker.events("worker.silent") and worker.events("duty.failed") for worker in workers)

    await eventually(everybody_met_it, what="claim, settle, listener, heartbeat and upkeep on the standby")
    pair.switch_back()
    back_at = await pair.primary.fetchval("select clock_timestamp()")

    later = await quick.enqueue(7)
    assert await later.result(60) == 7
    (tmp_path / "gate").touch()
    for task in (*tasks, *effects):
        await task.result(60)

    async def all_on_the_primary() -> bool:
        here = {row[0].removeprefix("penstock ") for row in await pair.primary.fetch(_OURS)}
        return here >= _KEPT and not await pair.standby.fetch(_OURS)

    await eventually(all_on_the_primary, what="every connection back on the primary")

    async def kept_up() -> bool:
        beats = await pair.primary.fetchval("select max(heartbeat_at) > $1 from penstock.workers", back_at)
        duties = "select count(*) from penstock.duties where name in ('rescue', 'schedules') and ran_at > $1"
        return bool(beats) and await pair.primary.fetchval(duties, back_at) == 2

    await eventually(kept_up, what="a heartbeat, a rescue and a look at the schedules")
    audit = await ledger.audit(
        pair.primary, [task.id for task in (*tasks, *effects, later)], transactional=[task.id for task in effects]
    )
    assert audit.exact, audit
    assert [worker.events("worker.died") for worker in workers] == [0, 0]
    assert {row["cause"] for row in (await held.details())["history"]} == set(), "what ran went on"


async def test_a_fleet_follows_to_the_next_host_when_the_first_one_falls_silent(
    pair: Pair, ledger: Ledger, start_worker: StartWorker
) -> None:
    quick_to_notice = {"lease_seconds": "60", "heartbeat_seconds": "0.5", "command_timeout_seconds": "2"}
    async with opened_on(pair.both, command_timeout_seconds=2) as app:
        worker = start_worker(ready=False, url=pair.both, **quick_to_notice)
        await asyncio.to_thread(worker.wait_ready)
        tasks = [await quick.enqueue(n, seconds=0.1) for n in range(200)]
        await started(ledger, tasks[5].id)
        pair.proxy.blackhole()

        async def caught_up() -> bool:
            if await pair.primary.fetch(_ACTIVE):
                return False
            written = await pair.primary.fetchval("select pg_current_wal_lsn()")
            return bool(await pair.standby.fetchval("select pg_last_wal_replay_lsn() >= $1", written))

        await eventually(caught_up, what="everything that was committed on the standby")
        await pair.standby.execute("select pg_promote()")

        async def stored() -> Any:
            try:
                return await quick.options(idempotency_key="once").enqueue(7)
            except DatabaseError:
                return None

        tasks.append(await eventually(stored, what="an enqueue at the new primary"))
        for task in tasks:
            await task.result(60)
        async with app.connection() as connection:
            assert not await connection.fetchval("select pg_is_in_recovery()")
    audit = await ledger.audit(pair.standby, [task.id for task in tasks])
    assert audit.exact, audit
    assert worker.events("worker.died") == 0


async def test_a_worker_starts_and_works_while_its_first_host_is_silent(
    app: Penstock, database_url: str, start_worker: StartWorker
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        parts, port = urlsplit(database_url), silent.getsockname()[1]
        hosts = f"127.0.0.1:{port},{quote(_folder(database_url), safe='')}"
        url = f"postgresql://{parts.netloc}{hosts}{parts.path}"
        worker = start_worker(ready=False, url=url, lease_seconds="60", heartbeat_seconds="0.5")
        await asyncio.to_thread(worker.wait_ready)
        task = await quick.enqueue(7)
        assert await task.result(60) == 7
    assert worker.events("worker.died") == 0
