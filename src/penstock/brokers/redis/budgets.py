"""Budgets counted in Redis, and in PostgreSQL while Redis is away.

Two stores must not grant one budget at once. So the fleet counts where the one row of ``penstock.limiter_store`` says:
every process reads it with the limits, none goes by what is older than a second, and for that second after a move
nobody gets a permit. The store that was moved to begins with nothing left, since nobody can tell what the other one has
granted; neither move gives a burst twice.
"""

import asyncio
import contextvars
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from penstock.brokers.redis.limits import RedisLimits
from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.events import Events
from penstock.limits.budgets import QUIET_SECONDS, UNSTEADY_SECONDS, KnownLimits, PostgresBudgets, move_to_postgres
from penstock.storage import limits
from penstock.storage.database import PASSING
from penstock.storage.limits import Block, Grant, KnownLimit, LimitFigures

# How soon Redis is tried again after it was left; doubled with each move that follows another one within a minute.
_FIRST_RETURN_SECONDS, _LONGEST_RETURN_SECONDS = 2.0, 300.0
_PROBE_SECONDS = 1.0
_TOUCH_SECONDS = 60.0


class RedisBudgets:
    """Belongs to one event loop."""

    def __init__(self, pool: Any, url: str, *, prefix: str, events: Events) -> None:
        self._pool = pool
        self._url = url
        self._prefix = prefix
        self._events = events
        self.known = KnownLimits(pool)
        self._postgres = PostgresBudgets(pool, self.known)
        self._redis: RedisLimits | None = None
        self._returning: asyncio.Task[None] | None = None
        self._refusal: str | None = None
        self._tried_at = -_PROBE_SECONDS
        self._touched_at = monotonic()

    async def take(
        self, key: str, weights: Sequence[int], *, ahead_seconds: float, heavy_ahead_seconds: float
    ) -> Grant:
        known = await self._standing_of(key)
        quiet = QUIET_SECONDS - known.changed_seconds
        if quiet > 0:
            return _none(known, quiet)
        if known.store != "redis":
            self._return_when_due(known)
            return await self._postgres.take(
                key, weights, ahead_seconds=ahead_seconds, heavy_ahead_seconds=heavy_ahead_seconds
            )
        try:
            redis = await self._connected()
            granted = await redis.take(
                known, weights, ahead_seconds=ahead_seconds, heavy_ahead_seconds=heavy_ahead_seconds
            )
        except (BrokerAway, BrokerRefused) as error:
            await self._leave(known, error)
            return _none(known, QUIET_SECONDS)
        await self._touch()
        return granted

    async def standing(self, key: str) -> LimitFigures | None:
        """A permit of the store that was left counts as blocked: the other one does not know of it."""
        known = await self._standing_of(key)
        quiet = max(QUIET_SECONDS - known.changed_seconds, 0.0)
        if known.store != "redis" or quiet > 0:
            found = await self._postgres.standing(key)
            if found is None or quiet == 0:
                return found
            return LimitFigures(rate=found.rate, burst=found.burst, blocked_seconds=max(found.blocked_seconds, quiet))
        try:
            left = await (await self._connected()).standing(known)
        except (BrokerAway, BrokerRefused) as error:
            await self._leave(known, error)
            return LimitFigures(rate=known.rate, burst=known.burst or 1, blocked_seconds=QUIET_SECONDS)
        return LimitFigures(rate=left.rate, burst=left.burst or 1, blocked_seconds=left.blocked_seconds)

    async def penalise(self, key: str, seconds: float, reason: str | None) -> Block:
        """Redis first, where everybody looks; PostgreSQL keeps it, and tells a Redis that lost it."""
        known = await self._standing_of(key)
        if known.store == "redis":
            try:
                await (await self._connected()).penalise(known, seconds)
            except (BrokerAway, BrokerRefused) as error:
                await self._leave(known, error)
        block = await self._postgres.penalise(key, seconds, reason)
        self.known.note(key, blocked_seconds=block.seconds_left)
        return block

    async def open(self) -> None:
        await self.prefer_redis()

    async def prefer_redis(self) -> bool:
        """Move the fleet to Redis if it answers. False: it does not, or somebody else moved the fleet meanwhile."""
        try:
            redis = await self._connected()
            async with self._pool.acquire() as connection:
                found = await limits.store(connection)
                if found.store == "redis":
                    return True
                await redis.start_empty()
                moved = await limits.move(connection, "redis", found.number, unsteady_seconds=UNSTEADY_SECONDS)
        except (BrokerAway, BrokerRefused) as error:
            self._tell_refusal(error)
            return False
        self.known.forget()
        if moved:
            self._events.emit("limiter.store_changed", store="redis", reason="Redis answers")
        return moved

    async def close(self) -> None:
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.gather(self._returning, return_exceptions=True)
        await self.known.close()
        if self._redis is not None:
            await self._redis.close()

    async def _standing_of(self, key: str) -> KnownLimit:
        known = await self.known.of(key)
        assert known is not None, "the statement answers for every key it is asked for"
        return known

    async def _connected(self) -> RedisLimits:
        """Names in Redis begin with the installation, so that two databases may share a Redis."""
        if self._redis is None:
            async with self._pool.acquire() as connection:
                found = await limits.store(connection)
            if self._redis is None:
                self._redis = RedisLimits(self._url, prefix=names_begin_with(self._prefix, found.installation))
        return self._redis

    def _tell_refusal(self, error: BrokerAway | BrokerRefused) -> None:
        """A Redis that is away comes back. One that says no waits for a person, who hears of each cause once."""
        if isinstance(error, BrokerRefused) and error.cause != self._refusal:
            self._refusal = error.cause
            self._events.emit("limiter.redis_refused", reason=str(error))

    async def _leave(self, known: KnownLimit, error: BrokerAway | BrokerRefused) -> None:
        """Raises what the database raises: without both there are no permits."""
        self._tell_refusal(error)
        moved = await move_to_postgres(self._pool, known.number)
        self.known.forget()
        if moved:
            self._events.emit("limiter.store_changed", store="postgres", reason=error.cause)

    def _return_when_due(self, known: KnownLimit) -> None:
        patience = min(_FIRST_RETURN_SECONDS * 2.0**known.unsteady, _LONGEST_RETURN_SECONDS)
        now = monotonic()
        if known.changed_seconds < patience or now - self._tried_at < _PROBE_SECONDS:
            return
        if self._returning is None or self._returning.done():
            self._tried_at = now
            self._returning = asyncio.get_running_loop().create_task(
                self._return(), name="limiter back to redis", context=contextvars.Context()
            )

    async def _return(self) -> None:
        with suppress(*PASSING):  # the database is away as well: the next take tries again
            await self.prefer_redis()

    async def _touch(self) -> None:
        now = monotonic()
        if now - self._touched_at >= _TOUCH_SECONDS:
            self._touched_at = now
            async with self._pool.acquire() as connection:
                await limits.touch(connection, self.known.keys_in_use)


def names_begin_with(prefix: str, installation: str) -> str:
    return f"{prefix}.{installation[:8]}"


def _none(known: KnownLimit, wait_seconds: float) -> Grant:
    return Grant(granted=0, delays_seconds=(), wait_seconds=wait_seconds, rate=known.rate, burst=known.burst)
