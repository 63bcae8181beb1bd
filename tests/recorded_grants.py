"""What a limiter's store granted to the processes of a test, by the store's own clock.

When a permit is used says how quick the machine was; what was granted, and whether a permit was used before its
moment, does not.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from penstock.storage.limits import Grant
from tests.unit.gcra import SECOND

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class RecordedGrants:
    """``grants``: (microsecond of the store's clock, weight) of every permit. ``questions``: how often it was asked."""

    grants: list[tuple[float, int]] = field(default_factory=list)
    questions: int = 0
    _ready: list[float] = field(default_factory=list)
    _asked: asyncio.Condition = field(default_factory=asyncio.Condition)

    def watch(self, budgets: Any) -> None:
        """Every question of this process from now on; ``budgets`` are ``Budgets``."""
        take = budgets.take

        async def recorded(key: str, weights: Sequence[int], **reach: Any) -> Grant:
            grant: Grant = await take(key, weights, **reach)
            received = time.monotonic()
            if grant.at is not None:
                at = (grant.at - _EPOCH) // timedelta(microseconds=1)
                for delay, weight in zip(grant.delays_seconds, weights, strict=False):
                    self.grants.append((at + round(delay * SECOND), weight))
            self._ready += [received + delay for delay in grant.delays_seconds]
            async with self._asked:
                self.questions += 1
                self._asked.notify_all()
            return grant

        budgets.take = recorded

    async def answered(self, questions: int) -> None:
        """Returns once the store has answered so many questions."""
        async with self._asked:
            await self._asked.wait_for(lambda: self.questions >= questions)

    @property
    def seconds(self) -> float:
        """From the first granted permit to the last."""
        moments = [at for at, _ in self.grants]
        return (max(moments) - min(moments)) / SECOND

    def above_the_rate(self, since: datetime, rate: float) -> list[float]:
        """Permits before their turn, where the first is due at ``since`` and each other one at the rate."""
        first = (since - _EPOCH) // timedelta(microseconds=1)
        due = (first + number / rate * SECOND for number in count())
        return [at for (at, _), moment in zip(sorted(self.grants), due, strict=False) if at < moment - 1000]

    def used_early(self, moments: Sequence[float]) -> list[float]:
        """Of these moments of the monotonic clock, those at which more permits were in use than were due."""
        return [used for used, ready in zip(sorted(moments), sorted(self._ready), strict=False) if used < ready]
