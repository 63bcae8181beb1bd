"""Where permits come from: the little that a limiter asks of its store. PostgreSQL here, Redis in
``penstock.brokers.redis.budgets``. And what this process knows of the limits, blocks and circuits of the keys it uses:
their truth is in PostgreSQL.
"""

import asyncio
import contextvars
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Protocol

from penstock.config import Settings
from penstock.events import Events
from penstock.storage import limits
from penstock.storage.limits import Block, Grant, KnownLimit, LimitFigures

_READ_AGAIN_SECONDS = 0.5
OLDEST_SECONDS = 1.0
# A key nobody asked for in this time is not read any more.
_IN_USE_SECONDS = 10.0
# Nobody gets a permit for so long after a move: until every process has heard of it.
QUIET_SECONDS = OLDEST_SECONDS
# A move that follows another one within this is unsteady.
UNSTEADY_SECONDS = 60.0


class KnownLimits:
    """All keys in use are read in one statement, each at most every half second; between two reads nobody asks. What is
    older than a second is not used, so a change holds everywhere a second later. Belongs to one event loop."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._found: dict[str, tuple[KnownLimit, float]] = {}
        self._used: dict[str, float] = {}
        self._forgotten = 0
        self._reading: asyncio.Task[None] | None = None
        self._read_for: frozenset[str] = frozenset()

    async def of(self, key: str) -> KnownLimit | None:
        """As it stands by now. Raises what the database raises where nothing recent is known."""
        now = monotonic()
        self._used[key] = now
        found = self._found.get(key)
        if found is None or now - found[1] > OLDEST_SECONDS:
            forgotten = None
            while forgotten != self._forgotten:  # what was read before a `forget` is out of date as well
                forgotten = self._forgotten
                await self._read(key)
        elif now - found[1] > _READ_AGAIN_SECONDS:
            self._begin()
        return self.seen(key)

    def seen(self, key: str) -> KnownLimit | None:
        """The same without a look."""
        found = self._found.get(key)
        if found is None:
            return None
        known, read_at = found
        age = monotonic() - read_at
        probe_in = known.probe_in_seconds
        return replace(
            known,
            blocked_seconds=max(known.blocked_seconds - age, 0.0),
            probe_in_seconds=None if probe_in is None else max(probe_in - age, 0.0),
            changed_seconds=known.changed_seconds + age,
        )

    def note(self, key: str, **changes: Any) -> None:
        """What this process did itself, until it is read again."""
        known = self.seen(key)
        if known is not None:
            self._found[key] = (replace(known, **changes), monotonic())

    def forget(self) -> None:
        """Whoever asks next looks again, also if a look is on its way."""
        self._forgotten += 1
        self._found.clear()

    @property
    def keys_in_use(self) -> tuple[str, ...]:
        return tuple(self._used)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, key: str) -> None:
        """Who comes while others are being read for waits for those first, then has itself read if need be."""
        reading = self._begin()
        if key not in self._read_for:
            await asyncio.wait([reading])
            reading = self._begin()
        await asyncio.shield(reading)

    def _begin(self) -> "asyncio.Task[None]":
        """One read at a time, for everybody; not in the context of whoever happened to need it."""
        if self._reading is None or self._reading.done():
            earliest = monotonic() - _IN_USE_SECONDS
            self._used = {key: at for key, at in self._used.items() if at >= earliest}
            self._found = {key: one for key, one in self._found.items() if key in self._used}
            self._read_for = frozenset(self._used)
            self._reading = asyncio.get_running_loop().create_task(
                self._read_all(sorted(self._read_for)), name="known limits", context=contextvars.Context()
            )
            self._reading.add_done_callback(_seen)
        return self._reading

    async def _read_all(self, keys: list[str]) -> None:
        forgotten = self._forgotten
        async with self._pool.acquire() as connection:
            rows = await limits.known(connection, keys)
        read_at = monotonic()
        if forgotten == self._forgotten:
            self._found.update({row.key: (row, read_at) for row in rows})


def _seen(reading: "asyncio.Task[None]") -> None:
    """A read in the background that failed is no news: whoever needs it tries again and is told."""
    if not reading.cancelled():
        reading.exception()


class Budgets(Protocol):
    """One for all keys of a process. ``known``: what the process knows of the keys it uses, circuits included."""

    known: KnownLimits

    async def open(self) -> None:
        """A worker starts: what the fleet prefers may be used from now on."""

    async def take(
        self, key: str, weights: Sequence[int], *, ahead_seconds: float, heavy_ahead_seconds: float
    ) -> Grant:
        """Permits for as many of the first requests as are due; see ``storage.limits.take``."""

    async def standing(self, key: str) -> LimitFigures | None:
        """Before a permit that waited is used: is it still worth something? None: neither limited nor blocked."""

    async def penalise(self, key: str, seconds: float, reason: str | None) -> Block:
        """Nobody in the fleet gets a permit for so long; a block that ends later stays."""

    async def close(self) -> None: ...


class PostgresBudgets:
    """Counts in the rows of ``penstock.limits``. ``events``: where this is what the settings ask for, and not only for
    as long as Redis is away; then a fleet that counts elsewhere is news."""

    def __init__(self, pool: Any, known: KnownLimits | None = None, *, events: Events | None = None) -> None:
        self._pool = pool
        self.known = known or KnownLimits(pool)
        self._events = events
        self._told_of_difference = False

    async def open(self) -> None:
        """The fleet may have been counted in Redis until all of it was given other settings. If somebody moves it back
        to Redis after this, they still differ."""
        if self._events is None:
            return
        async with self._pool.acquire() as connection:
            found = await limits.store(connection)
        if found.store != "postgres" and await move_to_postgres(self._pool, found.number):
            self._events.emit("limiter.store_changed", store="postgres", reason="a worker began that counts there")

    async def take(
        self, key: str, weights: Sequence[int], *, ahead_seconds: float, heavy_ahead_seconds: float
    ) -> Grant:
        self._look_for_difference(key)
        async with self._pool.acquire() as connection:
            return await limits.take(
                connection, key, weights, ahead_seconds=ahead_seconds, heavy_ahead_seconds=heavy_ahead_seconds
            )

    def _look_for_difference(self, key: str) -> None:
        """Costs nothing: where the fleet counts comes with what is read for circuits."""
        known = self.known.seen(key)
        if self._events is None or self._told_of_difference or known is None or known.store == "postgres":
            return
        self._told_of_difference = True
        self._events.emit("limiter.store_differs", key=key, here="postgres", fleet=known.store)

    async def standing(self, key: str) -> LimitFigures | None:
        async with self._pool.acquire() as connection:
            return await limits.standing(connection, key)

    async def penalise(self, key: str, seconds: float, reason: str | None) -> Block:
        async with self._pool.acquire() as connection:
            return await limits.penalise(connection, key, seconds, reason)

    async def close(self) -> None:
        await self.known.close()


def redis_url(settings: Settings) -> str | None:
    """Where these settings have limits counted; None: in PostgreSQL."""
    if settings.limiter == "postgres" or settings.redis_url is None:
        return None
    return settings.redis_url.get_secret_value()


async def move_to_postgres(pool: Any, number: int) -> bool:
    """The fleet counts in PostgreSQL from now on, with nothing left. False: somebody else moved it meanwhile."""
    async with pool.acquire() as connection, connection.transaction():
        moved = await limits.move(connection, "postgres", number, unsteady_seconds=UNSTEADY_SECONDS)
        if moved:
            await limits.empty(connection, QUIET_SECONDS)
    return moved
