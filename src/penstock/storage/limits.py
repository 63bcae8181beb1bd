"""Fleet-wide budgets. One function per query of ``sql/limits.sql``.

Exactness rests on the row: every ``take`` of a key holds its row while it reads the clock, so takes of one
key happen one after the other, each at a later time than the one before. Times leave the database as seconds
from then, never as a time of day, so that no other clock is compared with it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.errors import InvalidSetting
from penstock.storage.queries import Changed, Command, Connection, Record, Records, load

_sql = load("limits")

LONGEST_KEY = 500
_BATCH = 1000
# PostgreSQL counts time in microseconds and its calendar has an end: beyond these a limit could not be kept exactly.
SLOWEST_RATE, FASTEST_RATE = 1e-6, 1e5
LARGEST_BURST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The front of the requests that got permits, and in how many seconds each may be used."""

    granted: int
    delays_seconds: tuple[float, ...]
    # Until the first request without a permit could have one; None when all have, or it is above the burst.
    wait_seconds: float | None
    # None: the key is not limited.
    rate: float | None
    burst: int | None
    # The store's clock, for records; never to be compared with another clock.
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFigures:
    rate: float | None
    burst: int
    blocked_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """``seconds_added`` is how much later the block ends than it did before this penalty."""

    seconds_left: float
    seconds_added: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """A limit as people see it. ``available`` may be negative while permits are reserved ahead."""

    key: str
    rate: float | None
    burst: int
    available: int | None
    blocked_seconds: float
    blocked_reason: str | None
    updated_at: datetime
    # Which setting of the limit this is, and after which removal; what Redis goes by.
    version: int = 0
    since: int = 0
    # The circuit, where somebody asked for one: closed, open, due (somebody may try it), probing.
    circuit: str | None = None
    circuit_failures: int | None = None
    circuit_seconds: float | None = None
    failures: int | None = None
    # Where this budget is counted at present.
    store: str = "postgres"
    # Until the next permit; 0 where there is one now.
    opens_in_seconds: float = 0.0
    # How often somebody was asked to slow down, and when and why last.
    penalties: int = 0
    penalised_at: datetime | None = None
    penalty_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLimit:
    """A key as it stood a moment ago. ``version`` and ``since`` only grow; None, like the rate, for a key that nobody
    has limited or blocked."""

    key: str
    rate: float | None
    burst: int | None
    version: int | None
    since: int | None
    blocked_seconds: float
    failure_limit: int | None
    pause_seconds: float | None
    failures: int
    open: bool
    # Until somebody may try an open circuit.
    probe_in_seconds: float | None
    store: str
    number: int
    changed_seconds: float
    unsteady: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    store: str
    number: int
    installation: str


def whole_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def checked_key(key: object) -> str:
    if not isinstance(key, str) or not key.strip():
        raise InvalidSetting("limiter key", key, "name what is limited, such as a provider, a host or a tenant")
    if len(key) > LONGEST_KEY or "\0" in key:
        raise InvalidSetting("limiter key", key[:60], f"use at most {LONGEST_KEY} characters, none of them NUL")
    return key


def _checked_limit(key: str, rate: object, burst: object) -> None:
    if not (isinstance(rate, int | float) and math.isfinite(rate) and rate > 0):
        raise InvalidSetting(f"rate of limit {key!r}", rate, "it has to be a number of permits per second above 0")
    if not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise InvalidSetting(
            f"rate of limit {key!r}", rate, f"use {SLOWEST_RATE:g} to {FASTEST_RATE:,.0f} permits per second"
        )
    if not whole_number(burst, 1, LARGEST_BURST):
        raise InvalidSetting(
            f"burst of limit {key!r}", burst, f"it has to be a whole number from 1 to {LARGEST_BURST:,}"
        )


async def take(
    connection: Connection,
    key: str,
    weights: Sequence[int],
    *,
    ahead_seconds: float = 0.0,
    heavy_ahead_seconds: float = 0.0,
) -> Grant:
    """Permits for as many of the first requests as are due. With ``ahead_seconds`` a permit may be for a
    moment that is still to come: it must not be used before its delay is over."""
    row = await connection.fetchrow(_sql.take, key, list(weights), ahead_seconds, heavy_ahead_seconds)
    if row is None:  # the limit was lifted while we waited for its row
        return Grant(granted=0, delays_seconds=(), wait_seconds=0.0, rate=None, burst=None)
    return Grant(
        granted=row["granted"],
        delays_seconds=tuple(row["delays"]),
        wait_seconds=row["wait_seconds"],
        rate=row["rate"],
        burst=row["burst"],
        at=row["at"],
    )


standing = Record[[str], LimitFigures](_sql.standing, LimitFigures)  # key
known = Records[[Sequence[str]], KnownLimit](_sql.known, KnownLimit)  # keys
empty = Command[[float]](_sql.empty)  # after_seconds
touch = Command[[Sequence[str]]](_sql.touch)  # keys
# False: there was no such limit.
remove = Changed[[str]](_sql.remove)  # key


async def move(connection: Connection, store: str, number: int, *, unsteady_seconds: float) -> bool:
    """False: somebody else has moved the fleet meanwhile."""
    return await connection.fetchval(_sql.move, store, number, unsteady_seconds) is not None


async def store(connection: Connection) -> Store:
    return Store(**await connection.fetchrow(_sql.store))


async def penalise(connection: Connection, key: str, retry_after_seconds: float, reason: str | None) -> Block:
    """Nobody gets a permit of this key for so long; a block that ends later stays."""
    row = await connection.fetchrow(_sql.penalise, checked_key(key), retry_after_seconds, reason)
    return Block(**dict(row))


async def configure(connection: Connection, key: str, rate: float, burst: int = 1) -> None:
    """At most ``burst + rate * t`` permits in any ``t`` seconds, counted over the whole fleet."""
    _checked_limit(checked_key(key), rate, burst)
    await connection.execute(_sql.configure, key, float(rate), burst)


async def listing(connection: Connection, *, after: str = "", limit: int | None = None) -> list[LimitView]:
    return [LimitView(**dict(row)) for row in await connection.fetch(_sql.listing, after, limit)]


async def forget_passed_blocks(connection: Connection, *, older_than_seconds: float) -> int:
    return len(await connection.fetch(_sql.forget_passed_blocks, older_than_seconds, _BATCH))


async def forget_unused(connection: Connection, prefix: str, *, unused_seconds: float) -> int:
    return len(await connection.fetch(_sql.forget_unused, prefix, unused_seconds, _BATCH))
