"""Budgets in Redis: the same GCRA as ``sql/limits.sql``, in Lua, by the clock of Redis.

A hash per key holds the theoretical arrival time in whole microseconds, the block, and the limit with its version. What
a limit is stands in PostgreSQL; whoever takes says what it knows. An older version never replaces a newer one, and what
was known before a removal does not come back. A hash goes away when its budget is full again. A marker tells it from
one that was lost: budgets that do not know the marker of today start empty at the moment it was made.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.brokers.redis.link import RedisLink, Script
from penstock.storage.limits import Grant, KnownLimit, LimitView

# A line that does not answer for so long is given up, and a broken one is tried again once: twice this, and a Redis
# that hangs is left.
_ANSWER_SECONDS = 0.4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a budget stands. ``available`` may be negative while permits are reserved ahead."""

    blocked_seconds: float
    rate: float | None
    burst: int | None
    available: float | None


class RedisLimits:
    """One connection pool. Every call ends within a second, with ``BrokerAway`` where Redis does not answer well and
    ``BrokerRefused`` where somebody has to correct something."""

    def __init__(self, url: str, *, prefix: str) -> None:
        self.prefix = prefix
        self._link = RedisLink(url, answer_seconds=2 * _ANSWER_SECONDS, line_seconds=_ANSWER_SECONDS, tries=2)
        self._take, self._penalise, self._standing, self._tell = (
            Script("limit_begin", name) for name in ("limit_take", "limit_penalise", "limit_standing", "limit_tell")
        )

    async def take(
        self, known: KnownLimit, weights: Sequence[int], *, ahead_seconds: float, heavy_ahead_seconds: float
    ) -> Grant:
        reach = [round(ahead_seconds * 1e6), round(heavy_ahead_seconds * 1e6)]
        wait, rate, burst, at, delays = await self._call(self._take, known, [*reach, *weights])
        return Grant(
            granted=len(delays),
            delays_seconds=tuple(int(delay) / 1e6 for delay in delays),
            wait_seconds=None if int(wait) < 0 else int(wait) / 1e6,
            rate=float(rate) if rate else None,
            burst=int(burst) if burst else None,
            at=_EPOCH + timedelta(microseconds=int(at)),
        )

    async def penalise(self, known: KnownLimit, seconds: float) -> None:
        await self._call(self._penalise, known, [math.ceil(seconds * 1e6)])

    async def standing(self, known: KnownLimit) -> Left:
        """Changes nothing that counts."""
        return _left(await self._call(self._standing, known, []))

    async def standings(self, views: Sequence[LimitView]) -> list[Left]:
        """Of many keys in one round trip, for people."""
        script = self._standing
        asked = [("EVALSHA", script.sha, 2, *self._keys(one.key), *_arguments(one, 0.0)) for one in views]
        _, *answers = await self._link.together(("SCRIPT", "LOAD", script.text), *asked)
        return [_left(answer) for answer in answers]

    async def tell(self, known: KnownLimit) -> None:
        """Somebody changed this key: it holds from now on, whatever others remember."""
        await self._call(self._tell, known, [])

    async def start_empty(self) -> None:
        """All budgets begin anew with nothing in them, at the first take after this."""
        await self._link.call("DEL", self._marker)

    async def close(self) -> None:
        await self._link.close()

    @property
    def _marker(self) -> str:
        return f"{self.prefix}:limits"

    def _keys(self, key: str) -> tuple[str, str]:
        return f"{self.prefix}:limit:{key}", self._marker

    async def _call(self, script: Script, known: KnownLimit, more: list[Any]) -> Any:
        asked = _arguments(known, known.blocked_seconds)
        return await self._link.run(script, self._keys(known.key), *asked, *more)


def _arguments(known: KnownLimit | LimitView, blocked_seconds: float) -> list[Any]:
    """What the asking process knows of a key."""
    steered = [math.ceil(max(blocked_seconds, 0.0) * 1e6), known.since or 0]
    if known.rate is None or known.burst is None:
        return ["", "", "", "", *steered]
    return [known.version or 0, repr(float(known.rate)), known.burst, math.ceil(1e6 / known.rate), *steered]


def _left(answer: Sequence[bytes]) -> Left:
    blocked, rate, burst, left = answer
    return Left(
        blocked_seconds=int(blocked) / 1e6,
        rate=float(rate) if rate else None,
        burst=int(burst) if burst else None,
        available=float(left) if left else None,
    )
