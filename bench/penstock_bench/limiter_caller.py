"""One worker process of `penstock bench limiter`: many callers that always want a permit, as handlers would.

It is told its plan as JSON on the command line, writes a line when it is ready, reads the moment to begin, and writes
what it called and when as JSON. Times are of CLOCK_MONOTONIC, which all processes of a machine share.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import orjson
import uvloop

from penstock.brokers.redis.budgets import RedisBudgets
from penstock.events import Events
from penstock.limits.budgets import Budgets, PostgresBudgets
from penstock.limits.limiter import Limiter, LimiterBusy, Limiters

KEY = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``refuse_after_seconds``: the first call after so long is answered with 429 and ``Retry-After``; None: no call of
    this process. ``line_seconds``: what its way to the store takes longer than that of the others."""

    database_url: str
    redis_url: str | None
    prefix: str
    callers: int
    seconds: float
    refuse_after_seconds: float | None = None
    retry_after_seconds: int = 3
    line_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class Ledger:
    """The called side: notes each call as it comes."""

    calls: list[float] = field(default_factory=list)
    refused_at: float | None = None
    sent_back: int = 0


class Refused(Exception):
    """As an HTTP library raises it for an answer 429."""

    status = 429

    def __init__(self, retry_after_seconds: int) -> None:
        self.headers = {"Retry-After": str(retry_after_seconds)}


class FarBudgets:
    """Puts a long line before the store."""

    def __init__(self, budgets: Budgets, line_seconds: float) -> None:
        self._budgets = budgets
        self._half_seconds = line_seconds / 2
        self.known = budgets.known

    async def open(self) -> None:
        await self._budgets.open()

    async def _over_the_line(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.sleep(self._half_seconds)
        result = await ask()
        await asyncio.sleep(self._half_seconds)
        return result

    async def take(self, *args: Any, **options: Any) -> Any:
        return await self._over_the_line(lambda: self._budgets.take(*args, **options))

    async def standing(self, key: str) -> Any:
        return await self._over_the_line(lambda: self._budgets.standing(key))

    async def penalise(self, key: str, seconds: float, reason: str | None) -> Any:
        return await self._over_the_line(lambda: self._budgets.penalise(key, seconds, reason))

    async def close(self) -> None:
        await self._budgets.close()


async def work(plan: Plan) -> Ledger:
    ledger = Ledger()
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(asyncpg.create_pool(plan.database_url, min_size=2, max_size=4))
        budgets: Budgets = PostgresBudgets(pool)
        if plan.redis_url is not None:
            budgets = RedisBudgets(pool, plan.redis_url, prefix=plan.prefix, events=Events())
        if plan.line_seconds:
            budgets = FarBudgets(budgets, plan.line_seconds)
        stack.push_async_callback(budgets.close)
        limiters = Limiters(pool, Events(), budgets=budgets)
        await limiters.of("warm up").acquire()
        begin_at = await asyncio.to_thread(_told_to_begin)
        refuse_at = None if plan.refuse_after_seconds is None else begin_at + plan.refuse_after_seconds
        await asyncio.sleep(begin_at - time.monotonic())
        callers = [
            asyncio.create_task(_call(limiters.of(KEY), ledger, refuse_at, plan.retry_after_seconds))
            for _ in range(plan.callers)
        ]
        await asyncio.sleep(begin_at + plan.seconds - time.monotonic())
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    return ledger


def _told_to_begin() -> float:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    return float(sys.stdin.readline())


async def _call(limiter: Limiter, ledger: Ledger, refuse_at: float | None, retry_after_seconds: int) -> None:
    """A handler, and the queue it is sent back to."""
    while True:
        try:
            async with limiter:
                now = time.monotonic()
                ledger.calls.append(now)
                if refuse_at is not None and ledger.refused_at is None and now >= refuse_at:
                    ledger.refused_at = now
                    raise Refused(retry_after_seconds)
        except LimiterBusy as busy:
            ledger.sent_back += 1
            await asyncio.sleep(max(busy.retry_after, 0.0))
        except Refused:
            pass


if __name__ == "__main__":
    done = uvloop.run(work(Plan(**orjson.loads(sys.argv[1]))))
    told = {"calls": done.calls, "refused_at": done.refused_at, "sent_back": done.sent_back}
    sys.stdout.buffer.write(orjson.dumps(told))
