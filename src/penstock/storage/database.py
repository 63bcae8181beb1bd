"""Connections, and what a failure of one means.

``connect`` and ``pool`` are the only places that open them, through a ``Dialer``. ``translated`` turns what the driver
raises into our own sentences; ``LOST`` are the errors after which a statement may or may not have happened.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import asyncpg

from penstock.config import Settings
from penstock.errors import (
    DatabaseError,
    DatabaseFull,
    DatabaseLoginRefused,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnavailable,
    UnknownTask,
    UsageError,
)
from penstock.storage.dialer import Dialer, InvalidAddress, address

# How long a connection that failed may take to be given back to its pool.
_RELEASE_SECONDS = 1.0

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
# Nothing was stored, and nothing will be over this connection, as long as it leads to that server.
READ_ONLY: tuple[type[BaseException], ...] = (asyncpg.ReadOnlySQLTransactionError, DatabaseReadOnly)


# The same as our own sentences: what `connect` raises while the server is away.
AWAY: tuple[type[BaseException], ...] = (DatabaseUnavailable, DatabaseReadOnly, DatabaseFull)


# Faults that heal: the work is kept and tried again.
PASSING: tuple[type[BaseException], ...] = LOST + AGAIN + REFUSED + AWAY
# Those, and what a person has to mend at the database: never a bug of the loop that meets them.
DATABASE_FAULTS: tuple[type[BaseException], ...] = (*PASSING, DatabaseError)


def passing(error: BaseException) -> bool:
    return isinstance(error, PASSING)


async def connect(
    settings: Settings,
    url: str,
    *,
    purpose: str,
    lock_timeout_ms: int | None = None,
    dialer: Dialer | None = None,
) -> asyncpg.Connection:
    """One connection, with sane time-outs and its purpose visible in pg_stat_activity. ``dialer``: of whoever comes
    again when it is lost.

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
        return await (dialer or Dialer()).dial(url, **options)


class Pool:
    """asyncpg's, except that a connection that answers "read-only" is not kept: the next one may reach the primary."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    def acquire(self, *, timeout: float | None = None) -> "Borrowed":
        return Borrowed(self._pool, timeout)

    async def close(self) -> None:
        """It is no error when the server closed a connection first."""
        with suppress(*LOST):
            await self._pool.close()

    def terminate(self) -> None:
        self._pool.terminate()


class Borrowed:
    """One connection of a pool, for a block of statements."""

    __slots__ = ("_connection", "_pool", "_timeout")

    def __init__(self, pool: asyncpg.Pool, timeout: float | None) -> None:
        self._pool = pool
        self._timeout = timeout

    async def __aenter__(self) -> Any:
        self._connection = await self._pool.acquire(timeout=self._timeout)
        return self._connection

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            await self._pool.release(self._connection)
            return
        if isinstance(error, READ_ONLY) or isinstance(error.__cause__, READ_ONLY):
            self._connection.terminate()
        # The driver cancels a statement that was given up, over a line that may be silent, and then drops it.
        with suppress(TimeoutError):
            await self._pool.release(self._connection, timeout=_RELEASE_SECONDS)


async def pool(settings: Settings, url: str, *, purpose: str, size: int, lent: bool = False) -> Pool:
    """``lent``: users' code gets the connections, so their session is reset after each use. Ours leaves nothing behind,
    and the reset is a round trip."""
    with opening(url):
        reset = None if lent else _leave
        options = _options(settings, purpose) | {"connect": Dialer().dial}
        made = await asyncpg.create_pool(url, min_size=0, max_size=size, reset=reset, **options)
        try:
            async with made.acquire():
                pass
        except BaseException:
            made.terminate()
            raise
        return Pool(made)


async def _leave(connection: Any) -> None:
    """A transaction left open was rolled back before this."""


def _options(settings: Settings, purpose: str) -> dict[str, Any]:
    return {
        "timeout": settings.connect_timeout_seconds,
        "command_timeout": settings.command_timeout_seconds,
        "statement_cache_size": settings.statement_cache,
        "server_settings": {"application_name": f"penstock {purpose}"},
    }


@contextmanager
def translated(url: str | None = None) -> Iterator[None]:
    """Driver errors become Penstock's, each with what to do next."""
    try:
        yield
    except asyncpg.InvalidAuthorizationSpecificationError as error:  # a wrong password is one of these
        raise DatabaseLoginRefused(where=_at(url), cause=str(error)) from None
    except asyncpg.InvalidCatalogNameError as error:
        raise DatabaseMissing(what=told(error)) from None
    except asyncpg.TooManyConnectionsError as error:
        raise DatabaseUnavailable(
            what=f"all connection slots{_at(url)} are in use ({error})",
            next_step="Raise max_connections, or put PgBouncer in front.",
        ) from None
    except asyncpg.ReadOnlySQLTransactionError:
        raise DatabaseReadOnly from None
    except asyncpg.DiskFullError as error:
        raise DatabaseFull(what=told(error)) from None
    except asyncpg.PostgresError as error:
        if isinstance(error, POOLED) or (isinstance(error, asyncpg.ProtocolViolationError) and "startup" in str(error)):
            raise _pooled(_at(url), error) from None
        if isinstance(error, LOST):
            raise _away(_at(url), error) from None
        raise _from_sqlstate(error) from None
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise _away(_at(url), error) from None
    except (TimeoutError, OSError) as error:
        raise _away(_at(url), error) from None


@contextmanager
def opening(url: str) -> Iterator[None]:
    """Around the first use of an address. Later a ValueError is a fault of whoever raised it, and stays one."""
    try:
        with translated(url):
            yield
    except ValueError as error:  # asyncpg's answer to a malformed URL
        raise DatabaseUnavailable(
            # The driver's own words may quote a part of the password.
            what="the address is not a PostgreSQL URL" + (f" ({error})" if isinstance(error, InvalidAddress) else ""),
            next_step="Write it as postgresql://user:password@host:port/database, with commas between several hosts.",
        ) from None


def _at(url: str | None) -> str:
    """Made only when something is wrong: every statement of an application passes by here."""
    return f" at {address(url)}" if url else ""


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
        self._url = url
        self._connect = partial(
            connect, settings, url, purpose=purpose, lock_timeout_ms=lock_timeout_ms, dialer=Dialer()
        )
        self._connection: asyncpg.Connection | None = None

    async def connection(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            # Nothing may be awaited between opening and keeping: whoever is cancelled there leaves it open for ever.
            self._connection = await self._connect()
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
        """The connection for one or more statements; dropped if they fail because of the line, or of where it leads."""
        connection = await self.connection()
        try:
            yield connection
        except POOLED as error:
            self.drop()
            raise _pooled(_at(self._url), error) from None
        except (*LOST, *READ_ONLY):
            self.drop()
            raise
        except asyncio.CancelledError:
            self.drop()
            raise
