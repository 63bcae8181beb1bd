"""Servers that Penstock cannot work on: too old, read-only, a standby. Each is named, and nothing hangs."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from penstock import Penstock, embedded
from penstock.config import load
from penstock.errors import DatabaseReadOnly, DatabaseTooOld
from penstock.storage import database
from tests.cli.conftest import Call, call, warm
from tests.crash.servers import OlderServer, folder_for_a_server, migrated_server

__all__ = ["call", "warm"]  # fixtures
_READ_ONLY = "The database is read-only (a standby, or a server in read-only mode)."
_APP = "penstock_demo.shop:app"


async def test_a_server_that_is_too_old_is_refused_with_its_version(database_url: str, call: Call) -> None:
    """The server is a new one; what it says about itself on the wire is changed on the way."""
    async with OlderServer(database_url) as older:
        for opened in (
            lambda: database.connect(load(), older.url, purpose="test"),
            lambda: database.pool(load(), older.url, purpose="test", size=1),
        ):
            with pytest.raises(DatabaseTooOld, match=r"The server is PostgreSQL 14\.\d+; Penstock needs 15 or newer"):
                await opened()
        for command in (("status",), ("migrate",), ("worker", "--app", _APP)):
            ended = await asyncio.to_thread(call, *command, database_url=older.url)
            assert ended.returncode == 4
            assert ended.stderr.startswith("penstock: The server is PostgreSQL 14.")


@pytest.fixture(params=["read-only", "standby"])
async def reads_only(
    request: pytest.FixtureRequest, database_url: str, connection: asyncpg.Connection
) -> AsyncIterator[str]:
    if request.param == "read-only":
        name = await connection.fetchval("select current_database()")
        await connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
        yield database_url
        return
    with folder_for_a_server() as folder:
        async with _standby(folder) as url:
            yield url


@asynccontextmanager
async def _standby(folder: Path) -> AsyncIterator[str]:
    """A migrated server that is told to follow another one, which it waits for; meanwhile it answers reads."""
    async with migrated_server(folder, {"fsync": "off"}) as server:
        signal = server.home / "data" / "standby.signal"
    # With the owner and the mode of the server's files.
    subprocess.run(["cp", "-p", signal.with_name("PG_VERSION"), signal], check=True)
    server = await asyncio.to_thread(embedded.acquire, server.home)
    try:
        yield server.url
    finally:
        await asyncio.to_thread(server.release)


async def test_a_server_that_only_takes_reads_is_named_by_enqueue_and_every_command(
    reads_only: str, call: Call
) -> None:
    app = Penstock("late", settings=load(database_url=reads_only))

    @app.task()
    async def quick() -> None: ...

    with pytest.raises(DatabaseReadOnly):
        await quick.enqueue()
    await app.close()
    # The worker too ends at once: to wait in silence for a standby to become something else helps nobody.
    for command in (("migrate",), ("worker", "--app", _APP)):
        ended = await asyncio.to_thread(call, *command, database_url=reads_only, seconds=60)
        assert ended.returncode == 4, ended.stderr
        sentence, advice, _ = ended.stderr.splitlines()[-3:]
        assert sentence == f"penstock: {_READ_ONLY}"
        assert advice.strip() == "Point PENSTOCK_DATABASE_URL at the primary."
