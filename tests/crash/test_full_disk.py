"""The disk of the server is full: said in a sentence, waited for, and nothing is lost."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from penstock import Penstock, embedded
from penstock.config import load
from penstock.errors import DatabaseFull, DatabaseUnavailable
from penstock.storage import database
from penstock.testing.ledger import Ledger
from tests.cli.conftest import Call, call, warm
from tests.crash.conftest import StartWorker, eventually, opened_on, started
from tests.crash.crash_app import effect, patient, quick
from tests.crash.servers import Filler, migrated_server, small_disk

__all__ = ["call", "warm"]  # fixtures
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small disk that these tests fill")


@pytest.fixture
async def small() -> AsyncIterator[tuple[embedded.EmbeddedServer, Filler]]:
    with small_disk(megabytes=160) as folder:
        async with migrated_server(folder, {"max_wal_size": "48MB", "min_wal_size": "32MB"}) as server:
            filler = Filler(folder)
            try:
                yield server, filler
            finally:
                filler.free()
                await asyncio.to_thread(server.ensure_running)


async def test_a_full_disk_is_one_sentence_and_everything_goes_on_when_there_is_room(
    small: tuple[embedded.EmbeddedServer, Filler], ledger: Ledger, start_worker: StartWorker, call: Call, tmp_path: Path
) -> None:
    server, filler = small
    worker = start_worker(url=server.url)
    async with opened_on(server.url) as app:
        # One try only: an attempt burned by the disk would end it.
        held = [await patient.options(max_attempts=1).enqueue(str(tmp_path / "gate")) for _ in range(5)]
        effects = [await effect.options(max_attempts=1).enqueue(n, seconds=1.0) for n in range(5)]
        await started(ledger, effects[-1].id)
        filler.fill()
        stored = []
        with pytest.raises(DatabaseFull) as full:
            while len(stored) < 5000:
                stored.append(await quick.enqueue(0))
        assert "\n" not in str(full.value)
        assert str(full.value).endswith("No space left on device. Free disk space; work goes on by itself afterwards.")
        (tmp_path / "gate").touch()

        async def kept_back() -> bool:
            return worker.events("database.lost") >= 3 and "No space left" in worker.text()

        await eventually(kept_back, what="a settlement that is kept while the disk is full")
        assert (await asyncio.to_thread(call, "status", database_url=server.url)).returncode == 0, "reading works"
        filler.free()
        tasks = [*held, *effects, *stored]
        await asyncio.gather(*(task.result(60) for task in tasks))
        async with app.connection() as connection:
            transactional = [task.id for task in effects]
            audit = await ledger.audit(connection, [task.id for task in tasks], transactional=transactional)
    assert audit.exact, audit
    assert worker.alive


async def test_a_server_that_dies_of_its_full_disk_costs_time_and_nothing_else(
    small: tuple[embedded.EmbeddedServer, Filler], ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    """Without room for its log, PostgreSQL stops as a whole, and cannot come back before there is some."""
    server, filler = small
    worker = start_worker(url=server.url)
    async with opened_on(server.url):
        tasks = [await patient.options(max_attempts=1).enqueue(str(tmp_path / "gate")) for _ in range(5)]
        await started(ledger, tasks[-1].id)
    filler.fill()
    connection = await asyncpg.connect(server.url)
    with pytest.raises(database.LOST):
        for _ in range(200):
            await connection.execute("select pg_logical_emit_message(false, 'fill', 'x'), pg_switch_wal()")
    connection.terminate()
    app = Penstock("late", settings=load(database_url=server.url))
    with pytest.raises((DatabaseUnavailable, DatabaseFull)):
        await app.open()
    (tmp_path / "gate").touch()

    async def silent() -> bool:
        return worker.events("worker.silent") > 0

    await eventually(silent, what="the worker noticing")
    filler.free()
    await asyncio.to_thread(server.ensure_running)
    async with opened_on(server.url) as app:
        await asyncio.gather(*(task.result(60) for task in tasks))
        async with app.connection() as reading:
            audit = await ledger.audit(reading, [task.id for task in tasks])
    assert audit.exact, audit
    assert worker.alive
