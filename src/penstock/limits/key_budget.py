"""The budget of one key in one process: shared by all its handlers, whatever lane they work for.

The store grants (``budgets``), ``permits`` hands out, ``circuits`` closes what does not answer. Here a permit is looked
at once more before it is used, and a block holds from the moment this process knows of it.
"""

import asyncio
import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from penstock.errors import InvalidSetting
from penstock.events import Events
from penstock.limits.budgets import Budgets
from penstock.limits.circuits import Circuit
from penstock.limits.permits import Permit, Permits
from penstock.limits.rate_headers import LONGEST_WAIT_SECONDS
from penstock.storage import limits
from penstock.storage.database import DATABASE_FAULTS

# A permit received longer ago than this is checked against blocks and changes of the limit before it is used; one
# answer serves all permits of that time.
_FRESH_SECONDS = 0.02
_RETRY_SECONDS = 0.2
# A block that only grew by less than this is the same one: many handlers see the same 429.
_NEWS_SECONDS = 1.0


class KeyBudget:
    """Belongs to one event loop."""

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
