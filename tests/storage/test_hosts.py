"""Several hosts in one URL: each is tried in turn with a time of its own, and the one that takes writes is used."""

import asyncio
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import asyncpg
import pytest

from penstock import Penstock
from penstock.closing import stop_listening
from penstock.config import load
from penstock.errors import DatabaseError, DatabaseReadOnly, DatabaseUnavailable
from penstock.storage import database, dialer
from penstock.storage.dialer import Dialer, address, hosts_of

READ_WRITE = "target_session_attrs=read-write"


@pytest.fixture
def silent() -> Iterator[str]:
    """Takes connections and never says a word, as a host behind a cable that was pulled."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def _behind(first: str, url: str) -> str:
    """The database of ``url`` as the second host of a list, in libpq's usual form."""
    parts = urlsplit(url)
    (folder,) = parse_qs(parts.query)["host"]
    return f"postgresql://{parts.netloc}{first},{quote(folder, safe='')}:5432{parts.path}"


async def test_a_silent_first_host_is_left_for_the_next_one(database_url: str, silent: str) -> None:
    url = f"{_behind(silent, database_url)}?{READ_WRITE}"
    settings = load(database_url=url, connect_timeout_seconds=60)
    connection = await database.connect(settings, url, purpose="test")
    assert await connection.fetchval("select 1") == 1
    await connection.close()
    async with Penstock("moved", settings=settings) as app, app.connection() as kept:
        assert await kept.fetchval("select 1") == 1


async def test_a_host_that_refuses_is_left_for_the_next_one(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        gone = f"127.0.0.1:{listening.getsockname()[1]}"
    url = _behind(gone, database_url)
    connection = await database.connect(load(database_url=url), url, purpose="test")
    await connection.close()


async def test_where_no_host_answers_each_is_named_without_a_password(silent: str) -> None:
    url = f"postgresql://me:secret@{silent},localhost:1/there?password=secret"
    with pytest.raises(DatabaseUnavailable) as told:
        await database.connect(load(database_url=url, connect_timeout_seconds=0.2), url, purpose="test")
    sentence = str(told.value)
    assert f"at {silent},localhost:1/there" in sentence
    assert f"{silent}: no answer within 0.2 s; localhost:1: " in sentence
    assert "secret" not in sentence


async def test_whoever_is_cancelled_while_hosts_are_tried_leaves_no_connection_behind(
    database_url: str, silent: str, connection: asyncpg.Connection
) -> None:
    url = _behind(silent, database_url)
    reached = asyncio.Event()

    async def question(*arguments: Any, **options: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialer, "_suitable", question)
        opening = asyncio.create_task(database.connect(load(database_url=url), url, purpose="cancelled"))
        await reached.wait()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    still_there = "select count(*) from pg_stat_activity where application_name = 'penstock cancelled'"
    async with asyncio.timeout(60):
        while await connection.fetchval(still_there):
            await asyncio.sleep(0.02)


async def test_each_host_gets_the_password_that_the_file_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords: dict[int, bytes] = {}

    async def login(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Asks for the password as it is, and ends the connection when it has it."""
        (size,) = struct.unpack("!i", await reader.readexactly(4))
        await reader.readexactly(size - 4)
        writer.write(b"R" + struct.pack("!ii", 8, 3))
        _, size = struct.unpack("!ci", await reader.readexactly(5))
        passwords[writer.get_extra_info("sockname")[1]] = (await reader.readexactly(size - 4)).rstrip(b"\0")
        writer.close()

    servers = [await asyncio.start_server(login, "127.0.0.1", 0) for _ in range(2)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    file = tmp_path / "pgpass"
    file.write_text("".join(f"127.0.0.1:{port}:*:*:for-{port}\n" for port in ports))
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    url = f"postgresql://me@127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}/x?sslmode=disable"
    with pytest.raises(DatabaseUnavailable):
        await database.connect(load(database_url=url), url, purpose="test")
    assert passwords == {port: f"for-{port}".encode() for port in ports}
    for server in servers:
        await stop_listening(server)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://me@a:1,b:2/x", ["a:1", "b:2"]),
        ("postgresql://me:p%40ss@a,b:2/x", ["a:5432", "b:2"]),
        ("postgresql://[::1]:1,[fe80::2]/x", ["[::1]:1", "[fe80::2]:5432"]),
        ("postgresql://%2Frun%2Fone,two/x", ["/run/one:5432", "two:5432"]),
        ("postgresql:///x?host=/run/one,/run/two&port=1,2", ["/run/one:1", "/run/two:2"]),
        ("postgresql:///x?host=a,b&port=7", ["a:7", "b:7"]),
        ("postgresql://me@one:1/x", ["one:1"]),
        ("postgresql:///x", []),
    ],
)
def test_the_hosts_of_a_url_are_read_as_libpq_reads_them(
    url: str, hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    assert [str(host) for host in hosts_of(url)] == hosts


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@a:1,b:2/x?target_session_attrs=primary", "a:1,b:2/x"),
        ("postgresql://me:secret@a/x?password=secret", "a/x"),
        ("postgresql://me@/x?host=/run/one", "local socket/x"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert address(url) == shown


# ---------------------------------------------------------------- which server is wanted


class _Server:
    def __init__(self, host: str, *, standby: bool, reports: bool) -> None:
        self.host = host
        self._standby = standby
        said = {"in_hot_standby": "on" if standby else "off", "default_transaction_read_only": "off"}
        self._said = SimpleNamespace(**(said if reports else {}), register_data_types=lambda types: None)
        self.terminated = False

    def get_server_version(self) -> Any:
        return SimpleNamespace(major=18, minor=0, micro=0)

    def get_settings(self) -> Any:
        return self._said

    async def fetchval(self, statement: str, **options: Any) -> Any:
        return self._standby if "pg_is_in_recovery" in statement else "on" if self._standby else "off"

    def terminate(self) -> None:
        self.terminated = True


@pytest.mark.parametrize("reports", [True, False], ids=["reported at the login", "asked for"])
@pytest.mark.parametrize(
    ("asked", "servers", "chosen"),
    [
        ("", {"a": "standby", "b": "primary"}, "b"),
        ("?target_session_attrs=read-write", {"a": "standby", "b": "primary"}, "b"),
        ("?target_session_attrs=primary", {"a": "standby", "b": "primary"}, "b"),
        ("?target_session_attrs=any", {"a": "standby", "b": "primary"}, "a"),
        ("?target_session_attrs=standby", {"a": "primary", "b": "standby"}, "b"),
        ("?target_session_attrs=read-only", {"a": "primary", "b": "standby"}, "b"),
        ("?target_session_attrs=prefer-standby", {"a": "primary", "b": "standby"}, "b"),
        ("?target_session_attrs=prefer-standby", {"a": "primary", "b": "primary"}, "a"),
        ("", {"a": "standby", "b": "standby"}, DatabaseReadOnly),
        ("?target_session_attrs=standby", {"a": "primary", "b": "primary"}, DatabaseUnavailable),
        ("?target_session_attrs=standby", {"a": "standby"}, "a"),
        ("?target_session_attrs=primary", {"a": "standby"}, DatabaseReadOnly),
    ],
)
async def test_the_server_that_is_asked_for_is_found(
    asked: str,
    servers: Mapping[str, str],
    chosen: str | type[DatabaseError],
    reports: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PGTARGETSESSIONATTRS", raising=False)
    opened: list[_Server] = []

    async def connect(url: str, *, host: str = "a", **options: Any) -> Any:
        opened.append(_Server(host, standby=servers[host] == "standby", reports=reports))
        return opened[-1]

    monkeypatch.setattr(dialer.asyncpg, "connect", connect)
    url = f"postgresql://me@{','.join(f'{name}:1' for name in servers)}/x{asked}"
    dialling = Dialer().dial(url, timeout=1)
    if isinstance(chosen, str):
        found: Any = await dialling
        assert found.host == chosen
        assert [one for one in opened if not one.terminated] == [found]
    else:
        with pytest.raises(chosen):
            await dialling
        assert all(one.terminated for one in opened)


async def test_a_target_that_is_none_is_refused_with_those_there_are() -> None:
    url = "postgresql://me@a:1,b:1/x?target_session_attrs=master"
    with pytest.raises(DatabaseUnavailable, match=r"target_session_attrs='master'.*prefer-standby"):
        await database.connect(load(database_url=url), url, purpose="test")
