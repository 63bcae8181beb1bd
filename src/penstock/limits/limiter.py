"""Fleet-wide budgets: ``async with ctx.limiter("wikidata"): …``

What handlers see: acquire, slow everybody down when the other side asks for it, and say how the call went. The work is
done in ``key_budget``, once per key and process.
"""

import asyncio
import threading
from collections.abc import Hashable, Mapping
from types import TracebackType
from typing import Any

from penstock.core.payload import clean_text
from penstock.errors import ThrottledError, UsageError
from penstock.events import Events
from penstock.limits.budgets import Budgets, PostgresBudgets
from penstock.limits.key_budget import KeyBudget
from penstock.limits.permits import LimiterBusy
from penstock.limits.rate_headers import LONGEST_WAIT_SECONDS, asked_wait_seconds, wait_asked_by

__all__ = ["Limiter", "LimiterBusy", "Limiters"]

_HOLD_SECONDS = 2.0
_LIMITERS_KEPT = 1000


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
