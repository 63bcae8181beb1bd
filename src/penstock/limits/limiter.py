"""Fleet-wide budgets: ``async with ctx.limiter("wikidata"): …``

What handlers see: acquire, slow everybody down when the other side asks for it, and say how the call went. The work is
done once per key and process, in :class:`KeyBudget`: the store grants (``budgets``), ``permits`` hands out,
``circuits`` closes what does not answer.
"""

import asyncio
import math
import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Any

from penstock.core.payload import clean_text
from penstock.errors import InvalidSetting, ThrottledError, UsageError
from penstock.events import Events
from penstock.limits.budgets import Budgets, PostgresBudgets
from penstock.limits.circuits import Circuit
from penstock.limits.permits import LimiterBusy, Permit, Permits
from penstock.limits.rate_headers import LONGEST_WAIT_SECONDS, asked_wait_seconds, wait_asked_by
from penstock.storage import limits
from penstock.storage.database import DATABASE_FAULTS

__all__ = ["Limiter", "LimiterBusy", "Limiters"]

# A permit received longer ago than this is checked against blocks and changes of the limit before it is used; one
# answer serves all permits of that time.
_FRESH_SECONDS = 0.02
_RETRY_SECONDS = 0.2
# A block that only grew by less than this is the same one: many handlers see the same 429.
_NEWS_SECONDS = 1.0
_HOLD_SECONDS = 2.0
_LIMITERS_KEPT = 1000


class KeyBudget:
    """The budget of one key in one process: shared by all its handlers, whatever lane they work for. Belongs to one
    event loop.

    A permit is looked at once more before it is used, and a block holds from the moment this process knows of it.
    """

    def __init__(self, key: str, pool: Any, budgets: Budgets, events: Events, *, hold_seconds: float) -> None:
        self.key = limits.checked_key(key)
        self._budgets = budgets
        self._events = events
        self._hold_seconds = hold_seconds
        self._permits = Permits(key, self._take, hold_seconds=hold_seconds)
        self.circuit = Circuit(key, pool, budgets.known, events)
        self._penalised_at = -math.inf
        # Holds this process back while the block is on its way to the database.
        self._held_until = -math.inf
        self._standing: tuple[float, limits.LimitFigures | None] = (-math.inf, None)
        self._looking: asyncio.Lock = asyncio.Lock()

    @property
    def idle(self) -> bool:
        return self._permits.idle

    async def acquire(self, weight: int, lane: Hashable) -> int | None:
        """Returns when ``weight`` permits may be used, at once. A token: this is the one call that tries an open
        circuit, and it has to say how it went."""
        if not limits.whole_number(weight, 1, limits.LARGEST_BURST):
            raise InvalidSetting(f"weight at limiter {self.key!r}", weight, "it has to be a whole number from 1")
        self._stay_away(await self.circuit.closed_for(), weight, lane)
        again = False
        while True:
            permit = await self._permits.next(weight, again=again, lane=lane)
            await permit.ready()
            if await self._holds(permit, monotonic()):
                break
            again = True
        wait, token = await self.circuit.pass_through()
        self._stay_away(wait, weight, lane)
        return token

    async def penalise(self, retry_after_seconds: float, reason: str, kept_reason: str | None) -> None:
        """Nobody in the fleet gets a permit for so long. See ``Limiter.penalise``."""
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
        block = await self._block(now + wait, kept_reason)
        if self._held_until <= now + wait:
            self._held_until = -math.inf
        if block is not None and block.seconds_added > min(_NEWS_SECONDS, wait / 2):
            self._events.emit("limiter.blocked", key=self.key, seconds=round(block.seconds_left, 3), reason=reason)

    def _stay_away(self, wait_seconds: float, weight: int, lane: Hashable) -> None:
        if wait_seconds > 0:
            known = self._budgets.known.seen(self.key)
            raise self._permits.sent_away(wait_seconds, weight, None if known is None else known.rate, lane)

    async def _take(self, weights: Sequence[int], ahead_seconds: float) -> limits.Grant:
        held = self._held_until - monotonic()
        if held > 0:
            return limits.Grant(granted=0, delays_seconds=(), wait_seconds=held, rate=None, burst=None)
        return await self._budgets.take(
            self.key, weights, ahead_seconds=ahead_seconds, heavy_ahead_seconds=self._hold_seconds
        )

    async def _holds(self, permit: Permit, now: float) -> bool:
        """Whether a permit is still good: no block came after it was asked for, its time has not passed."""
        if self._is_void(permit, now):
            return False
        if now - permit.received_at <= _FRESH_SECONDS:
            return True
        return await self._stands(permit, now) and not self._is_void(permit, now)

    def _is_void(self, permit: Permit, now: float) -> bool:
        return permit.asked_at <= self._penalised_at or now < self._held_until or now > permit.stale_at

    async def _stands(self, permit: Permit, now: float) -> bool:
        try:
            found = await self._look(now)
        except DATABASE_FAULTS:
            return False
        if found is None or found.rate is None:
            return found is None or found.blocked_seconds <= 0
        return found.blocked_seconds <= 0 and (found.rate, found.burst) == (permit.rate, permit.burst)

    async def _look(self, now: float) -> limits.LimitFigures | None:
        """Those who come while one asks use its answer, if it was asked for after they needed it."""
        async with self._looking:
            asked_at, found = self._standing
            if asked_at < now - _FRESH_SECONDS:
                asked_at = monotonic()
                found = await self._budgets.standing(self.key)
                self._standing = (asked_at, found)
            return found

    async def _block(self, until: float, reason: str | None) -> limits.Block | None:
        while True:
            with suppress(*DATABASE_FAULTS):
                return await self._budgets.penalise(self.key, max(until - monotonic(), 0.0), reason)
            if monotonic() >= until:
                return None
            await asyncio.sleep(_RETRY_SECONDS)


class Limiter:
    """The budget of one key, for one lane. In a handler that runs in a thread, use ``with`` instead of ``async with``.

    A wait of up to two seconds is waited for; when it would be longer, :class:`LimiterBusy` sends the task back to the
    queue until then, which burns no attempt. A key that nobody configured is not limited, but a block holds it up all
    the same. Without the database there are no permits.

    Where the key has a circuit, ``async with`` also tells how the call went; ``acquire`` alone does not.
    """

    def __init__(
        self, budget: KeyBudget, *, lane: Hashable = None, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.key = budget.key
        self._budget = budget
        self._lane = lane
        self._loop = loop
        # By task or thread, since several may use one limiter: the token of the call that tries an open circuit.
        self._probes: dict[tuple[str, int], int] = {}

    async def __aenter__(self) -> "Limiter":
        await self._enter(_task())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The other side said "slow down" inside the block: that holds for everybody."""
        await self._leave(_task(), error)

    def __enter__(self) -> "Limiter":
        self._from_thread(self._enter(_thread()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._from_thread(self._leave(_thread(), error))

    async def acquire(self, weight: int = 1) -> None:
        """Returns when ``weight`` permits may be used, at once."""
        await self._budget.acquire(weight, self._lane)

    async def penalise(self, retry_after_seconds: float, reason: str = "") -> None:
        """Nobody in the fleet gets a permit for so long. Afterwards the budget is empty: no burst.

        A longer block that stands already stays. With the database away it is tried again until the block
        would be over; nobody gets a permit in that time either.
        """
        await self._budget.penalise(retry_after_seconds, reason, clean_text(reason, 500) or None)

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

    async def _enter(self, who: tuple[str, int]) -> None:
        token = await self._budget.acquire(1, self._lane)
        if token is not None:
            self._probes[who] = token

    async def _leave(self, who: tuple[str, int], error: BaseException | None) -> None:
        await self._budget.circuit.told(error, self._probes.pop(who, None))
        if error is not None:
            await self.penalise_for(error)

    def _wait_asked(self, error: BaseException) -> float | None:
        if isinstance(error, LimiterBusy):
            return None
        if isinstance(error, ThrottledError):
            # Bounded before it becomes a float: a whole number may be too large for one.
            wait = max(min(error.retry_after, LONGEST_WAIT_SECONDS), 0.0)
            return float(wait) if error.key in (None, self.key) else None
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


def _task() -> tuple[str, int]:
    return "task", id(asyncio.current_task())


def _thread() -> tuple[str, int]:
    return "thread", threading.get_ident()


class Limiters:
    """One budget per key and process, so that handlers of one process share their questions."""

    def __init__(
        self, pool: Any, events: Events, *, hold_seconds: float = _HOLD_SECONDS, budgets: Budgets | None = None
    ) -> None:
        self._pool = pool
        self._events = events
        self._budgets = budgets or PostgresBudgets(pool)
        self._hold_seconds = hold_seconds
        self._limiters: dict[str, KeyBudget] = {}
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def of(self, key: str, lane: Hashable = None) -> Limiter:
        """``lane``: those who wait for one key in this process take turns by it."""
        found = self._limiters.get(key)
        if found is None:
            if len(self._limiters) >= _LIMITERS_KEPT:  # one per host adds up
                self._limiters = {name: one for name, one in self._limiters.items() if not one.idle}
            found = KeyBudget(key, self._pool, self._budgets, self._events, hold_seconds=self._hold_seconds)
            self._limiters[key] = found
        return Limiter(found, lane=lane, loop=self._loop)

    async def close(self) -> None:
        await self._budgets.close()

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
