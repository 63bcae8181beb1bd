"""Opens connections: reads the hosts of a URL and which of their servers is wanted, both as libpq does, tries them in
turn, and leaves servers that are not wanted.

A standby answers every connection, so a link that was opened during a failover would stay there for ever. PostgreSQL
reports at the login whether it is read-only: a usable server costs no question.
"""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from penstock.errors import DatabaseReadOnly, DatabaseTooOld, DatabaseUnavailable
from penstock.storage.queries import load

_sql = load("dialer")
OLDEST_VERSION = 150000
# Arrays of built-in types: oid, name, oid of the elements. They are the same on every PostgreSQL. asyncpg would look
# them up on every new connection, which costs the server nearly as much as the rest of a worker's start.
ARRAYS = (
    (1000, "_bool", 16),
    (1001, "_bytea", 17),
    (1005, "_int2", 21),
    (1007, "_int4", 23),
    (1016, "_int8", 20),
    (1021, "_float4", 700),
    (1022, "_float8", 701),
    (1182, "_date", 1082),
    (1185, "_timestamptz", 1184),
    (1187, "_interval", 1186),
    (1231, "_numeric", 1700),
    (2951, "_uuid", 2950),
    (199, "_json", 114),
    (3807, "_jsonb", 3802),
)
_ARRAY_TYPES = [
    {
        "oid": oid,
        "ns": "pg_catalog",
        "name": name,
        "kind": b"b",
        "basetype": None,
        "elemtype": element,
        "elemdelim": ",",
        "range_subtype": None,
        "attrtypoids": None,
    }
    for oid, name, element in ARRAYS
]
# After the first read-only answer, and at most: everybody asks again within a second of the end of a failover.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 1.0
# A host that has not answered by then is not waited for alone. Heartbeats give up after a few seconds: several silent
# hosts have to fit into that.
_HEAD_START_SECONDS = 0.5
_PORT = 5432
_BRACKETS = re.compile(r"\[([^\]]+)\](?::(.*))?")


class Target(StrEnum):
    """``target_session_attrs``: what a server has to be, or another host is tried."""

    ANY = "any"
    READ_WRITE = "read-write"
    READ_ONLY = "read-only"
    PRIMARY = "primary"
    STANDBY = "standby"
    PREFER_STANDBY = "prefer-standby"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A name, an address, or the folder of a socket."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


class InvalidAddress(ValueError):
    """Says what is wrong with a URL without quoting what may be a part of its password."""


def hosts_of(url: str) -> tuple[Host, ...]:
    """In their order; empty where the URL leaves it to the driver's defaults. Raises InvalidAddress for wrong ports."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    named = parts.netloc.rpartition("@")[2]
    listed = named or asked.get("host", [""])[-1] or os.environ.get("PGHOST", "")
    if not listed:
        return ()
    pairs = [_split(one) if named else (one, "") for one in listed.split(",")]
    ports = (asked.get("port", [""])[-1] or os.environ.get("PGPORT", "")).split(",")
    if len(ports) == 1:
        ports *= len(pairs)
    if len(ports) != len(pairs):
        raise InvalidAddress(f"{len(pairs)} hosts and {len(ports)} ports: name one port, or one per host")
    return tuple(Host(name=name, port=_port(own or given)) for (name, own), given in zip(pairs, ports, strict=True))


def target_of(url: str) -> Target | None:
    """None: nobody asked for a certain kind of server."""
    asked = parse_qs(urlsplit(url).query).get("target_session_attrs", [""])[-1]
    text = asked or os.environ.get("PGTARGETSESSIONATTRS", "")
    if not text:
        return None
    try:
        return Target(text)
    except ValueError:
        raise InvalidAddress(f"target_session_attrs={text!r} must be one of {', '.join(Target)}") from None


def address(url: str) -> str:
    """The address without user and password, for messages and logs."""
    hosts, parts = hosts_of(url), urlsplit(url)
    if len(hosts) > 1:
        return f"{','.join(map(str, hosts))}{parts.path}"
    place = parts.hostname or "local socket"
    return f"{place}:{parts.port}{parts.path}" if parts.port else f"{place}{parts.path}"


def _port(text: str) -> int:
    if text and not text.isdecimal():
        raise InvalidAddress("a port is not a number; escape #, /, ? and @ in the password as %23, %2F, %3F and %40")
    return int(text or _PORT)


def _split(text: str) -> tuple[str, str]:
    """Name and port of one host of a URL; a folder has its slashes encoded there."""
    if bracketed := _BRACKETS.fullmatch(text):
        return bracketed[1], bracketed[2] or ""
    name, _, port = text.partition(":")
    return unquote(name), port


class Dialer:
    """One per link or pool. After a read-only answer it refuses by itself for a moment, so that loops and requests do
    not storm a standby with new connections."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._not_before = clock()
        self._seen = ""

    async def dial(self, url: str, **options: Any) -> asyncpg.Connection:
        """A connection to a server that accepts writes, unless the URL asks for another kind. ``options`` are
        asyncpg's; ``timeout`` counts for each host."""
        if self._clock() < self._not_before:
            raise DatabaseReadOnly(hosts=self._seen)
        try:
            connection = await _opened(url, options)
        except DatabaseReadOnly as error:
            self._seen = error.hosts
            self._not_before = self._clock() + self._pause_seconds
            self._pause_seconds = min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            raise
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        return connection


async def _opened(url: str, options: Mapping[str, Any]) -> asyncpg.Connection:
    hosts, asked = hosts_of(url), target_of(url)
    if asked is Target.PREFER_STANDBY:
        try:
            return await _first(hosts, partial(_connected, url, options, Target.STANDBY), options["timeout"])
        except Exception:  # raised again below, unless it was only that there is no standby
            asked = Target.ANY
    # A single host that reports nothing is believed: behind a pooler its first write will tell.
    sure = asked is not None or len(hosts) > 1
    target = asked or Target.READ_WRITE
    return await _first(hosts, partial(_connected, url, options, target, sure=sure), options["timeout"])


async def _first(
    hosts: Sequence[Host], connected: Callable[[Host | None], Awaitable[asyncpg.Connection]], timeout_seconds: float
) -> asyncpg.Connection:
    """The first host in turn whose server is wanted. Each has a head start over the next, and its whole time-out: a
    silent one costs half a second, a slow one is not given up."""
    if len(hosts) < 2:
        return await connected(None)
    head_start = min(_HEAD_START_SECONDS, timeout_seconds / len(hosts))
    tasks: list[asyncio.Task[asyncpg.Connection]] = []
    failed: dict[int, BaseException] = {}
    chosen: asyncio.Task[asyncpg.Connection] | None = None
    try:
        while len(failed) < len(hosts):
            if len(tasks) < len(hosts):
                tasks.append(asyncio.ensure_future(connected(hosts[len(tasks)])))
            under_way = [task for number, task in enumerate(tasks) if number not in failed]
            pause = head_start if len(tasks) < len(hosts) else None
            await asyncio.wait(under_way, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            for number, task in enumerate(tasks):
                if number in failed or not task.done():
                    continue
                if (error := task.exception()) is None:
                    chosen = task
                    return task.result()
                failed[number] = error
        raise _refusal({hosts[number]: failed[number] for number in sorted(failed)}, timeout_seconds)
    finally:
        for task in tasks:
            if task is not chosen:
                task.cancel()
                task.add_done_callback(_hang_up)


def _hang_up(task: "asyncio.Task[asyncpg.Connection]") -> None:
    """One that was opened although nobody needs it any more."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()


def _refusal(failed: Mapping[Host, BaseException], timeout_seconds: float) -> BaseException:
    """One error for all hosts: the most telling one, or what each of them said."""
    said = "; ".join(f"{host}: {_said(error, timeout_seconds)}" for host, error in failed.items())
    if any(isinstance(error, DatabaseReadOnly) for error in failed.values()):
        return DatabaseReadOnly(hosts=said)
    for error in failed.values():
        if not isinstance(error, OSError | TimeoutError):
            return error
    return ConnectionError(said)


def _said(error: BaseException, timeout_seconds: float) -> str:
    if isinstance(error, DatabaseReadOnly):
        return "read-only"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_seconds:g} s"
    first, _, _ = str(error).partition("\n")
    return first or type(error).__name__


async def _connected(
    url: str, options: Mapping[str, Any], target: Target, host: Host | None, *, sure: bool = True
) -> asyncpg.Connection:
    """``host``: this one of the several that the URL names; its password may come from a file that has one per host."""
    # Which server is wanted is decided here: the driver has one time-out for all hosts.
    given = {**options, "target_session_attrs": "any"}
    if host is not None:
        given |= {"host": host.name, "port": host.port}
    connection: Any = await asyncpg.connect(url, **given)
    try:
        connection.get_settings().register_data_types(_ARRAY_TYPES)
        async with asyncio.timeout(options["timeout"]):
            await _suitable(connection, target, sure=sure)
    except BaseException:
        connection.terminate()
        raise
    opened: asyncpg.Connection = connection
    return opened


async def _suitable(connection: Any, target: Target, *, sure: bool) -> None:
    if connection.get_server_version().major * 10000 < OLDEST_VERSION:
        raise DatabaseTooOld(version=version_of(connection))
    match target:
        case Target.READ_WRITE if await _only_reads(connection, sure=sure):
            raise DatabaseReadOnly
        case Target.PRIMARY if await _is_standby(connection):
            raise DatabaseReadOnly
        case Target.READ_ONLY if not await _only_reads(connection, sure=True):
            raise _unwanted(target)
        case Target.STANDBY if not await _is_standby(connection):
            raise _unwanted(target)


def _unwanted(target: Target) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        what=f"no host is what target_session_attrs={target} asks for",
        next_step="Name another host in PENSTOCK_DATABASE_URL, or another target_session_attrs.",
    )


async def _only_reads(connection: Any, *, sure: bool) -> bool:
    """As reported at the login, where that says no. A pooler repeats what its first server reported, which may be over:
    whoever seems to be read-only is asked. So is one that reports nothing, if it has to be ``sure``."""
    said = connection.get_settings()
    reported = {getattr(said, name, None) for name in ("in_hot_standby", "default_transaction_read_only")}
    if "on" in reported or (sure and reported == {None}):
        return await _answers_read_only(connection)
    return False


async def _is_standby(connection: Any) -> bool:
    if getattr(connection.get_settings(), "in_hot_standby", None) == "off":
        return False
    return bool(await connection.fetchval(_sql.in_recovery))


async def _answers_read_only(connection: Any) -> bool:
    return bool(await connection.fetchval(_sql.read_only) == "on")


async def require_writes(connection: Any) -> None:
    """For whoever only makes sense on a server that accepts writes now, however long the connection has been open."""
    if await _answers_read_only(connection):
        raise DatabaseReadOnly


def version_of(connection: Any) -> str:
    """As the server calls itself: 18.6. Since PostgreSQL 10 the driver has the second number in its third place."""
    number = connection.get_server_version()
    return f"{number.major}.{number.micro if number.major >= 10 else number.minor}"
