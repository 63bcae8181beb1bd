"""What an upkeep duty is, and the loop that runs them.

Any worker may run any duty. A row per duty is moved forward by compare-and-set, so each run is done by one worker;
a worker that dies in the middle leaves a duty that is simply due again later.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import duties
from penstock.storage.database import Link, passing


@dataclass(frozen=True, slots=True)
class Duty:
    """``run_once`` does a bounded piece of work on a connection and returns what it did, as counts."""

    name: str
    every_seconds: float
    run_once: Callable[[Any], Awaitable[dict[str, int]]]


@cache
def _registered(group: str) -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=group), key=lambda one: one.name))


async def removed_by(group: str, *given: Any) -> dict[str, int]:
    """What functions of installed packages cleared of tables that are not the engine's, as counts. Each does a bounded
    piece of work on a connection. They are entry points, because a supervisor imports no application:
    ``penstock.deleted`` is called with the connection, ``penstock.retention`` also with the seconds that tasks of no
    job are kept. One that fails does not keep the others from their turn; its error is raised behind them."""
    removed: dict[str, int] = {}
    failed: Exception | None = None
    for one in _registered(group):
        try:
            removed |= await one.load()(*given)
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return removed


async def in_batches(step: Callable[[int], Awaitable[int]], batch: int, *, most: int | None = None) -> int:
    """Until a batch is not full, or ``most`` batches are done; returns how many rows."""
    total = done = 0
    while done != most:
        count = await step(batch)
        total, done = total + count, done + 1
        if count < batch:
            break
    return total


class Upkeep:
    """Looks which duties are due and tries to be the one who does them. Owns one connection."""

    def __init__(
        self, *, settings: Settings, url: str, duties: Sequence[Duty], events: Events, failpoints: Failpoints
    ) -> None:
        self._link = Link(settings, url, purpose="upkeep", lock_timeout_ms=500)
        self._duties = tuple(duties)
        self._events = events
        self._failpoints = failpoints
        self._look_at = {duty.name: 0.0 for duty in self._duties}

    async def run(self) -> None:
        try:
            while True:
                await self.run_once()
                pause = min(self._look_at.values(), default=1.0) - time.monotonic()
                await asyncio.sleep(min(max(pause, 0.05), 5.0))
        finally:
            self._link.drop()

    async def run_once(self) -> dict[str, dict[str, int]]:
        """Do every duty that is due and that nobody else has taken; returns their counts."""
        done: dict[str, dict[str, int]] = {}
        for duty in self._duties:
            now = time.monotonic()
            if now < self._look_at[duty.name]:
                continue
            self._look_at[duty.name] = now + duty.every_seconds
            try:
                if (counts := await self._do(duty)) is not None:
                    done[duty.name] = counts
            except Exception as error:
                if not passing(error) and not isinstance(error, PenstockError):
                    self._link.drop()
                self._events.emit("duty.failed", duty=duty.name, error=f"{type(error).__name__}: {error}")
        return done

    async def _do(self, duty: Duty) -> dict[str, int] | None:
        started = time.monotonic()
        async with self._link.guarded() as connection:
            # A little less than the interval: a duty that looks every second is not late by a tick each time.
            if not await duties.take(connection, duty.name, duty.every_seconds * 0.9):
                return None
            self._failpoints.hit("during_upkeep", self._link.drop)
            counts = await duty.run_once(connection)
            took_ms = (time.monotonic() - started) * 1000
            await duties.done(connection, duty.name, took_ms, counts)
        if any(counts.values()):
            self._events.emit("duty.done", duty=duty.name, took_ms=round(took_ms, 1), **counts)
        return counts
