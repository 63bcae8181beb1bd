"""Fleet-wide budgets: ``async with ctx.limiter("wikidata"): …``

The database grants (``storage/limits``), ``permits`` hands out inside this process, and this module is what
handlers see: acquire, and slow everybody down when the other side asks for it.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from penstock.engine.events import Events
from penstock.engine.payload import clean_text
from penstock.engine.permits import LimiterBusy, Permit, Permits
from penstock.engine.rate_headers import (
    LONGEST_WAIT_SECONDS,
    asked_wait_seconds,
    wait_asked_by,
)
from penstock.errors import DatabaseError, InvalidSetting, ThrottledError, UsageError
from penstock.storage import limits
from penstock.storage.database import passing

__all__ = ["Limiter", "LimiterBusy", "Limiters"]

_HOLD_SECONDS = 2.0
# A permit received longer ago than this is checked against blocks and changes of the limit before it is used.
_FRESH_SECONDS = 0.25
_RETRY_SECONDS = 0.2
# A block that only grew by less than this is the same one: many handlers see the same 429.
_NEWS_SECONDS = 1.0
_LIMITERS_KEPT = 1000

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class Limiter:
    """The budget of one key. In a handler that runs in a thread, use ``with`` instead of ``async with``.

    A wait of up to ``hold_seconds`` is waited for; when it would be longer, :class:`LimiterBusy` sends the
    task back to the queue until then, which burns no attempt. A key that nobody configured is not limited, but
    a block holds it up all the same. Without the database there are no permits.
    """

    def __init__(
        self,
        key: str,
        pool: Any,
        events: Events,
        *,
        hold_seconds: float = _HOLD_SECONDS,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.key = limits.checked_key(key)
        self._pool = pool
        self._events = events
        self._hold_seconds = hold_seconds
        self._loop = loop
        self._permits = Permits(key, self._take, hold_seconds=hold_seconds)
        self._penalised_at = -math.inf
        # Holds this process back while the block is on its way to the database.
        self._held_until = -math.inf

    async def __aenter__(self) -> "Limiter":
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The other side said "slow down" inside the block: that holds for everybody."""
        if error is not None:
            await self.penalise_for(error)

    def __enter__(self) -> "Limiter":
        self._from_thread(self.acquire())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._from_thread(self.__aexit__(kind, error, trace))

    async def acquire(self, weight: int = 1) -> None:
        """Returns when ``weight`` permits may be used, at once."""
        if not limits.whole_number(weight, 1, limits.LARGEST_BURST):
            raise InvalidSetting(f"weight at limiter {self.key!r}", weight, "it has to be a whole number from 1")
        again = False
        while True:
            permit = await self._permits.next(weight, again=again)
            await permit.ready()
            if await self._holds(permit, monotonic()):
                return
            again = True

    async def penalise(self, retry_after_seconds: float, reason: str = "") -> None:
        """Nobody in the fleet gets a permit for so long. Afterwards the budget is empty: no burst.

        A longer block that stands already stays. With the database away it is tried again until the block
        would be over; nobody gets a permit in that time either.
        """
        wait = float(retry_after_seconds)
        if math.isnan(wait):
            raise InvalidSetting(
                f"retry_after_seconds at limiter {self.key!r}", wait, "it has to be a number of seconds"
            )
        wait = min(max(wait, 0.0), LONGEST_WAIT_SECONDS)
        now = monotonic()
        self._penalised_at = now
        self._held_until = max(self._held_until, now + wait)
        self._permits.forget()
        block = await self._block(now + wait, clean_text(reason, 500) or None)
        if self._held_until <= now + wait:
            self._held_until = -math.inf
        if block is not None and block.seconds_added > min(_NEWS_SECONDS, wait / 2):
            self._events.emit("limiter.blocked", key=self.key, seconds=round(block.seconds_left, 3), reason=reason)

    async def penalise_for(self, error: BaseException) -> None:
        """Block the key where the error says so. Never raises an error of its own in the place of that one."""
        try:
            wait = self._wait_asked(error)
            if wait is not None:
                await self.penalise(wait, str(error))
        except (UsageError, TypeError, ValueError) as problem:
            error.add_note(f"The limiter {self.key!r} could not be slowed down: {problem}")

    async def learn(self, headers: Mapping[str, str], status: int | None = None) -> float | None:
        """Feed every answer of the other side to this: ``Retry-After`` in both forms, 429, and
        ``X-RateLimit-Remaining: 0`` with its reset slow the key for everybody. Returns the wait asked for."""
        wait = asked_wait_seconds(headers, status)
        if wait is not None:
            await self.penalise(wait, f"the answer{f' {status}' if status else ''} asked for it")
        return wait

    @property
    def idle(self) -> bool:
        return self._permits.idle

    async def _take(self, weights: Sequence[int], ahead_seconds: float) -> limits.Grant:
        held = self._held_until - monotonic()
        if held > 0:
            return limits.Grant(granted=0, delays_seconds=(), wait_seconds=held, rate=None, burst=None)
        async with self._pool.acquire() as connection:
            return await limits.take(
                connection,
                self.key,
                weights,
                ahead_seconds=ahead_seconds,
                heavy_ahead_seconds=self._hold_seconds,
            )

    async def _holds(self, permit: Permit, now: float) -> bool:
        """Whether a permit is still good: no block came after it was asked for, its time has not passed."""
        if permit.asked_at <= self._penalised_at or now < self._held_until or now > permit.stale_at:
            return False
        if now - permit.received_at <= _FRESH_SECONDS:
            return True
        try:
            async with self._pool.acquire() as connection:
                found = await limits.standing(connection, self.key)
        except Exception as error:
            if isinstance(error, DatabaseError) or passing(error):
                return False
            raise
        if found is None or found.rate is None:
            return found is None or found.blocked_seconds <= 0
        return found.blocked_seconds <= 0 and (found.rate, found.burst) == (permit.rate, permit.burst)

    async def _block(self, until: float, reason: str | None) -> limits.Block | None:
        while True:
            try:
                async with self._pool.acquire() as connection:
                    return await limits.penalise(connection, self.key, max(until - monotonic(), 0.0), reason)
            except Exception as error:
                if not (isinstance(error, DatabaseError) or passing(error)):
                    raise
            if monotonic() >= until:
                return None
            await asyncio.sleep(_RETRY_SECONDS)

    def _wait_asked(self, error: BaseException) -> float | None:
        if isinstance(error, LimiterBusy):
            return None
        if isinstance(error, ThrottledError):
            return float(error.retry_after) if error.key in (None, self.key) else None
        return wait_asked_by(error)

    def _from_thread(self, work: Any) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            work.close()
            raise UsageError(f"Inside async code the limiter {self.key!r} is used with `async with`.")
        if self._loop is None:
            work.close()
            raise UsageError(f"The limiter {self.key!r} was made outside an event loop; use it with `async with`.")
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Limiters:
    """One limiter per key and process, so that handlers of one process share their questions."""

    def __init__(self, pool: Any, events: Events, *, hold_seconds: float = _HOLD_SECONDS) -> None:
        self._pool = pool
        self._events = events
        self._hold_seconds = hold_seconds
        self._limiters: dict[str, Limiter] = {}
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def of(self, key: str) -> Limiter:
        found = self._limiters.get(key)
        if found is None:
            if len(self._limiters) >= _LIMITERS_KEPT:  # one per host adds up
                self._limiters = {name: one for name, one in self._limiters.items() if not one.idle}
            found = Limiter(key, self._pool, self._events, hold_seconds=self._hold_seconds, loop=self._loop)
            self._limiters[key] = found
        return found

    async def penalise_for(self, error: BaseException) -> None:
        """What a handler raised: where it names a key, that key is blocked for everybody."""
        if not isinstance(error, ThrottledError) or error.key is None:
            return
        try:
            limiter = self.of(error.key)
        except UsageError as problem:
            error.add_note(str(problem))
            return
        await limiter.penalise_for(error)
