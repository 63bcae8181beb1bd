"""Connections, and what a failure of one means.

``connect`` is the only place that opens one. ``translated`` turns what the driver raises into our own sentences;
``lost`` says whether an error means that the connection is gone and the statement may or may not have happened.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from penstock.config import Settings
from penstock.errors import (
    DatabaseFull,
    DatabaseLoginRefused,
    DatabaseReadOnly,
    DatabaseTooOld,
    DatabaseUnavailable,
    UnknownTask,
    UsageError,
)

OLDEST_VERSION = 150000

# A pooler that gives every transaction another server connection: a statement was prepared elsewhere.
POOLED: tuple[type[BaseException], ...] = (
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)
# What the driver raises when the line is cut, the server restarts, is full or refuses more connections.
LOST: tuple[type[BaseException], ...] = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # The driver trips over itself when the server dies while it asks for the types of a statement.
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
    *POOLED,
)
# Worth the same statement again: nothing of it was stored.
AGAIN: tuple[type[BaseException], ...] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)
# The server is there but cannot write now: wait, do not drop the work.
REFUSED: tuple[type[BaseException], ...] = (
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.OutOfMemoryError,
    asyncpg.InsufficientResourcesError,
)


# The same as our own sentences: what `connect` raises while the server is away.
AWAY: tuple[type[BaseException], ...] = (DatabaseUnavailable, DatabaseReadOnly, DatabaseFull)


def passing(error: BaseException) -> bool:
    """True for faults that heal: the work is kept and tried again."""
    return isinstance(error, LOST + AGAIN + REFUSED + AWAY)


async def connect(
    settings: Settings, url: str, *, purpose: str, lock_timeout_ms: int | None = None
) -> asyncpg.Connection:
    """One connection, with sane time-outs and its purpose visible in pg_stat_activity.

    With ``lock_timeout_ms`` a statement gives up waiting for somebody else's transaction; not behind PgBouncer."""
    options = _options(settings, purpose)
    if settings.statement_cache:  # PgBouncer in transaction mode refuses what follows
        if lock_timeout_ms is not None:
            options["server_settings"]["lock_timeout"] = str(lock_timeout_ms)
        # No user code runs in these transactions. One that stands still belongs to a frozen process, whose locks
        # must not outlive its lease.
        frozen_ms = str(int(settings.lease_seconds * 1000))
        options["server_settings"]["idle_in_transaction_session_timeout"] = frozen_ms
    with opening(url):
        connection: asyncpg.Connection = await asyncpg.connect(url, **options)
        await _suitable(connection)
        return connection


async def pool(settings: Settings, url: str, *, purpose: str, size: int, lent: bool = False) -> asyncpg.Pool:
    """``lent``: users' code gets the connections, so their session is reset after each use. Ours leaves nothing behind,
    and the reset is a round trip."""
    with opening(url):
        reset = None if lent else _leave
        made = await asyncpg.create_pool(url, min_size=0, max_size=size, reset=reset, **_options(settings, purpose))
        try:
            async with made.acquire() as connection:
                await _suitable(connection)
        except BaseException:
            made.terminate()
            raise
        return made


async def _leave(connection: Any) -> None:
    """A transaction left open was rolled back before this."""


def _options(settings: Settings, purpose: str) -> dict[str, Any]:
    return {
        "timeout": settings.connect_timeout_seconds,
        "command_timeout": settings.command_timeout_seconds,
        "statement_cache_size": settings.statement_cache,
        "server_settings": {"application_name": f"penstock {purpose}"},
    }


async def _suitable(connection: Any) -> None:
    number = connection.get_server_version()
    if number.major * 10000 < OLDEST_VERSION:
        found = version_of(connection)
        await connection.close()
        raise DatabaseTooOld(version=found)


def version_of(connection: Any) -> str:
    """As the server calls itself: 18.6. Since PostgreSQL 10 the driver has the second number in its third place."""
    number = connection.get_server_version()
    return f"{number.major}.{number.micro if number.major >= 10 else number.minor}"


async def require_writes(connection: Any) -> None:
    """For whoever only makes sense on a server that takes writes, before it starts."""
    if await connection.fetchval("show transaction_read_only") == "on":
        raise DatabaseReadOnly


def address(url: str) -> str:
    """The address without user and password, for messages and logs."""
    parts = urlsplit(url)
    place = parts.hostname or "local socket"
    if parts.port:
        place += f":{parts.port}"
    return f"{place}{parts.path}"


@contextmanager
def translated(url: str | None = None) -> Iterator[None]:
    """Driver errors become Penstock's, each with what to do next."""
    where = f" at {address(url)}" if url else ""
    try:
        yield
    except asyncpg.InvalidAuthorizationSpecificationError as error:  # a wrong password is one of these
        raise DatabaseLoginRefused(where=where, cause=str(error)) from None
    except asyncpg.InvalidCatalogNameError as error:
        raise DatabaseUnavailable(
            what=f"{error}", next_step="Create the database, or correct PENSTOCK_DATABASE_URL."
        ) from None
    except asyncpg.TooManyConnectionsError as error:
        raise DatabaseUnavailable(
            what=f"all connection slots{where} are in use ({error})",
            next_step="Raise max_connections, or put PgBouncer in front.",
        ) from None
    except asyncpg.ReadOnlySQLTransactionError:
        raise DatabaseReadOnly from None
    except asyncpg.DiskFullError as error:
        raise DatabaseFull(what=told(error)) from None
    except asyncpg.PostgresError as error:
        if isinstance(error, POOLED) or (isinstance(error, asyncpg.ProtocolViolationError) and "startup" in str(error)):
            raise _pooled(where, error) from None
        if isinstance(error, LOST):
            raise _away(where, error) from None
        raise _from_sqlstate(error) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise _away(where, error) from None
    except (TimeoutError, OSError) as error:
        raise _away(where, error) from None


@contextmanager
def opening(url: str) -> Iterator[None]:
    """Around the first use of an address. Later a ValueError is a fault of whoever raised it, and stays one."""
    try:
        with translated(url):
            yield
    except ValueError as error:  # asyncpg's answer to a malformed URL
        raise DatabaseUnavailable(
            what=f"the address is not a PostgreSQL URL ({error})",
            next_step="Write it as postgresql://user:password@host:port/database.",
        ) from None


def told(error: BaseException) -> str:
    """The server's own words without its details and hints, which would be sentences inside a sentence."""
    first, _, _ = str(error).partition("\n")
    return first or type(error).__name__


def _away(where: str, error: BaseException) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        what=f"no answer{where} ({told(error)})", next_step="Is the server running, and PENSTOCK_DATABASE_URL right?"
    )


def _pooled(where: str, error: BaseException) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        what=f"a pooler{where} does not keep a session together ({error})",
        next_step="Behind PgBouncer in transaction mode set PENSTOCK_STATEMENT_CACHE=0 and PENSTOCK_LISTEN=false.",
    )


def _from_sqlstate(error: asyncpg.PostgresError) -> Exception:
    """Errors that the functions in the schema raise on purpose."""
    state = getattr(error, "sqlstate", None)
    if state == "PK001":
        return UnknownTask(str(error).split('"')[1])
    if isinstance(state, str) and state.startswith("PK"):
        return UsageError(" ".join(filter(None, (error.message, error.hint))))
    return error


class Link:
    """One connection that comes back. Used by a loop that owns it: not shared, so a lost answer concerns one
    statement only."""

    def __init__(self, settings: Settings, url: str, *, purpose: str, lock_timeout_ms: int | None = None) -> None:
        self._lock_timeout_ms = lock_timeout_ms
        self._settings = settings
        self._url = url
        self._purpose = purpose
        self._connection: asyncpg.Connection | None = None

    async def connection(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            # Nothing may be awaited between opening and keeping: whoever is cancelled there leaves it open for ever.
            self._connection = await connect(
                self._settings, self._url, purpose=self._purpose, lock_timeout_ms=self._lock_timeout_ms
            )
        return self._connection

    def drop(self) -> None:
        """Cut the line without a goodbye: after an error nobody knows what the server still does."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                await connection.close(timeout=2)
            except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()

    @asynccontextmanager
    async def guarded(self) -> AsyncIterator[asyncpg.Connection]:
        """The connection for one or more statements; dropped if they fail because of the line."""
        connection = await self.connection()
        try:
            yield connection
        except POOLED as error:
            self.drop()
            raise _pooled(f" at {address(self._url)}", error) from None
        except LOST:
            self.drop()
            raise
        except asyncio.CancelledError:
            self.drop()
            raise
