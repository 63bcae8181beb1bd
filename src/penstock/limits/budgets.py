"""Where permits come from: the little that a limiter asks of its store. PostgreSQL here, Redis in
``penstock.brokers.redis.budgets``."""

from collections.abc import Sequence
from typing import Any, Protocol

from penstock.config import Settings
from penstock.events import Events
from penstock.limits.known_limits import OLDEST_SECONDS, KnownLimits
from penstock.storage import limits
from penstock.storage.limits import Block, Grant, LimitFigures

# Nobody gets a permit for so long after a move: until every process has heard of it.
QUIET_SECONDS = OLDEST_SECONDS
# A move that follows another one within this is unsteady.
UNSTEADY_SECONDS = 60.0


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
