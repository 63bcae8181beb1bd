"""How many calls to a provider at once, and how long to wait between them.

Pure. Concurrency goes up by one after a round of good answers and down by a share after a bad one; the delay doubles
and decays. The calls that were under way when the pace was lowered say nothing about the new pace, so a burst of equal
refusals counts once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

_SLOWEST_DELAY_SECONDS = 0.01
_DECAY = 0.9
# A processor is held meanwhile; whoever has to wait longer is sent back by limiter or circuit.
_LONGEST_DELAY_SECONDS = 2.0


class Outcome(StrEnum):
    """How a call ended: a good answer, 429, no answer or 5xx, a good answer that took too long."""

    OK = "ok"
    THROTTLED = "throttled"
    FAILED = "failed"
    SLOW = "slow"


_KEEP = {Outcome.THROTTLED: 0.5, Outcome.FAILED: 0.7, Outcome.SLOW: 0.8}


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceBounds:
    """``slow_ms``: a good answer that took longer counts as slow; None leaves that to the caller."""

    min_concurrency: int = 1
    max_concurrency: int = 10
    first_delay_seconds: float = 0.1
    max_delay_seconds: float = 60.0
    slow_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one provider or domain; ``after`` each call there is a new one."""

    concurrency: int
    delay_seconds: float = 0.0
    reason: str = "the beginning"
    bounds: PaceBounds = PaceBounds()
    # Good answers since the concurrency last changed.
    good: int = 0
    # Calls still under way from before the last decrease.
    older: int = 0

    def after(self, outcome: Outcome, took_ms: float) -> "Pace":
        slow_ms = self.bounds.slow_ms
        if outcome is Outcome.OK and slow_ms is not None and took_ms > slow_ms:
            outcome = Outcome.SLOW
        return self._after_good(took_ms) if outcome is Outcome.OK else self._after_bad(outcome, took_ms)

    def _after_good(self, took_ms: float) -> "Pace":
        delay = self.delay_seconds * _DECAY
        delay = 0.0 if delay < _SLOWEST_DELAY_SECONDS else delay
        calmer = replace(self, delay_seconds=delay, older=max(0, self.older - 1), good=self.good + 1)
        if self.concurrency >= self.bounds.max_concurrency:
            return replace(calmer, reason=f"answers in {took_ms:.0f} ms: the most")
        if calmer.good < self.concurrency:
            return calmer
        return replace(
            calmer,
            concurrency=self.concurrency + 1,
            good=0,
            reason=f"{calmer.good} good answers in a row, the last in {took_ms:.0f} ms",
        )

    def _after_bad(self, outcome: Outcome, took_ms: float) -> "Pace":
        if self.older > 0:
            return replace(self, older=self.older - 1, good=0)
        bounds = self.bounds
        grown = self.delay_seconds
        if outcome is not Outcome.SLOW:
            grown = min(max(self.delay_seconds * 2, bounds.first_delay_seconds), bounds.max_delay_seconds)
        return replace(
            self,
            concurrency=max(bounds.min_concurrency, int(self.concurrency * _KEEP[outcome])),
            delay_seconds=grown,
            good=0,
            older=self.concurrency - 1,
            reason=f"{outcome.value} after {took_ms:.0f} ms",
        )


class Pacing:
    """Starts at the most that is allowed; trouble lowers it, good answers raise it again."""

    def __init__(self, *, most: int, slow_ms: float) -> None:
        self.pace = Pace(
            concurrency=most,
            bounds=PaceBounds(max_concurrency=most, max_delay_seconds=_LONGEST_DELAY_SECONDS, slow_ms=slow_ms),
        )
        self._under_way = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < self.pace.concurrency)
            self._under_way += 1
        try:
            if self.pace.delay_seconds:
                await asyncio.sleep(self.pace.delay_seconds)
            yield
        finally:
            self._under_way -= 1
            async with self._changed:
                self._changed.notify_all()

    def ended(self, outcome: Outcome, took_seconds: float) -> None:
        self.pace = self.pace.after(outcome, took_seconds * 1000)
