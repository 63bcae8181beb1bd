"""Servers of a test's own that can be spoiled: a standby, a small disk, another version, a pooler in front."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg

from penstock import embedded
from penstock.closing import stop_listening
from penstock.embedded.account import server_account
from penstock.embedded.home import prepare_home
from penstock.embedded.installation import binaries_for
from penstock.storage.migrate import migrate
from penstock.testing import ledger_table
from penstock.testing.processes import wait_until
from tests.conftest import server_folder
from tests.databases import BUNDLED

SOCKET = ".s.PGSQL.5432"


@contextmanager
def folder_for_a_server() -> Iterator[Path]:
    folder = server_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def migrated_server(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[embedded.EmbeddedServer]:
    server = await asyncio.to_thread(embedded.acquire, folder / "home", settings=settings)
    try:
        connection = await asyncpg.connect(server.url)
        await migrate(connection, BUNDLED)
        await ledger_table.create(connection)
        await connection.close()
        yield server
    finally:
        await asyncio.to_thread(server.release)


# ---------------------------------------------------------------- a standby


@asynccontextmanager
async def streaming_standby(folder: Path, primary: embedded.EmbeddedServer) -> AsyncIterator[embedded.EmbeddedServer]:
    """A hot standby that streams from ``primary``: its databases, its data, and only reads."""
    home = await asyncio.to_thread(prepare_home, folder / "standby", server_account())
    host = parse_qs(urlsplit(primary.url).query)["host"][0]
    with (primary.home / "data" / "pg_hba.conf").open("a") as access:
        access.write("local replication all peer map=penstock\n")
    connection = await asyncpg.connect(primary.url)
    await connection.execute("select pg_reload_conf()")
    await connection.close()
    copy = ["-h", host, "-U", "penstock", "-D", home.data, "-R", "-c", "fast"]
    program = binaries_for(home) / "bin" / "pg_basebackup"
    code, said = await asyncio.to_thread(home.account.run, [program, *copy], cwd=home.path)
    assert code == 0, said
    server = await asyncio.to_thread(embedded.acquire, home.path, settings={"fsync": "off"})
    try:
        yield server
    finally:
        await asyncio.to_thread(server.release)


# ---------------------------------------------------------------- a small disk


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A file system of its own, in memory. Only root may mount one."""
    with folder_for_a_server() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0711", "tmpfs", folder], check=True)
        try:
            yield folder
        finally:
            # The server's last process may need a moment to let go of it.
            subprocess.run(["umount", "--lazy", folder], check=True)


class Filler:
    """Takes all the room there is, and gives it back."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "filler"

    def fill(self) -> None:
        with self._path.open("ab", buffering=0) as file, suppress(OSError):
            for size in (1 << 20, 4096):
                with suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self) -> None:
        self._path.unlink(missing_ok=True)


# ---------------------------------------------------------------- another version


class OlderServer:
    """Passes everything through, except that the server says it is PostgreSQL 14.

    The server reports its version once, in a parameter message after the login; that is where a driver takes it from.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._server: asyncio.Server | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-older-", dir="/tmp"))
        self._pumps: set[asyncio.Task[None]] = set()
        self.url = f"postgresql://{urlsplit(url).netloc}{urlsplit(url).path}?host={self._folder}&port=5432"

    async def __aenter__(self) -> "OlderServer":
        self._server = await asyncio.start_unix_server(self._accept, self._folder / SOCKET)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = parse_qs(urlsplit(self._url).query)["host"][0]
        upstream_reader, upstream_writer = await asyncio.open_unix_connection(f"{there}/{SOCKET}")
        for pump in (self._pump(reader, upstream_writer), self._pump(upstream_reader, writer)):
            task = asyncio.create_task(pump)
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data.replace(b"server_version\x0018", b"server_version\x0014"))
                await writer.drain()
        writer.close()


# ---------------------------------------------------------------- a pooler

_POOLER = """
[databases]
* = host={host} port=5432 user={user}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = {size}
ignore_startup_parameters = {ignored}
logfile = {folder}/pgbouncer.log
pidfile =
"""


def pooler_program() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooler(url: str, *, size: int = 20, ignored: str = "") -> Iterator[str]:
    """PgBouncer in transaction mode before the server of ``url``; gives the address through it.

    It runs as the server's user, because the embedded server lets hardly anybody else in. ``ignored`` are start-up
    parameters that it takes and drops.
    """
    program, account, parts = pooler_program(), server_account(), urlsplit(url)
    assert program is not None
    with folder_for_a_server() as folder:
        settings = folder / "pgbouncer.ini"
        host = parse_qs(parts.query)["host"][0]
        user = parts.netloc.rpartition("@")[0]
        settings.write_text(_POOLER.format(host=host, user=user, folder=folder, size=size, ignored=ignored))
        if account.is_other:
            os.chown(folder, account.uid, account.gid)
            settings.chmod(0o644)
        process = subprocess.Popen(
            [program, "-q", settings],
            user=account.uid if account.is_other else None,
            group=account.gid if account.is_other else None,
            extra_groups=[] if account.is_other else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until((folder / SOCKET).exists, what="the start of PgBouncer", seconds=60)
            yield f"postgresql://{user}@{parts.path}?host={folder}&port=5432"
        finally:
            process.kill()
            process.wait(60)
