"""How much of the articles a search by meaning can find, how fresh the index is, and how its queue and workers do."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock import Penstock
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import WireRecord
from penstock.storage.queries import load

_coverage = load("coverage", "penstock.extensions.articles")
_sql = load("statistics", "penstock.extensions.articles")
Connection = Any

# A count that takes longer is shown again for a while instead of being made again: it then costs a twentieth of one
# busy connection at most.
_QUICK_SECONDS = 0.005
_SHOWN_AGAIN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(WireRecord):
    """Of all articles: `indexed` have vectors of their text, `stale` of an older one, `pending` none yet."""

    indexed: int
    stale: int
    pending: int
    total: int
    generation: str
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown(WireRecord):
    """What `pending` is made of: `waiting` for their task, `failed` in it, `missing` without one."""

    waiting: int
    failed: int
    missing: int


class Counted:
    """The last slow count of a process, by generation, and who is making a new one."""

    def __init__(self, app: Penstock, quick_seconds: float = _QUICK_SECONDS) -> None:
        self._app = app
        self._quick_seconds = quick_seconds
        self._slow: dict[int, tuple[float, Coverage]] = {}
        self._counting: dict[int, asyncio.Task[None]] = {}

    async def coverage(self, connection: Connection, generation: Generation) -> Coverage:
        """A search waits for a count only where there is none yet, or it is quick."""
        until, known = self._slow.get(generation.id, (0.0, None))
        if known is None:
            return await self._count(connection, generation)
        running = self._counting.get(generation.id)
        if time.monotonic() >= until and (running is None or running.done()):
            self._counting[generation.id] = asyncio.create_task(self._renew(generation))
        return known

    def put(self, generation: Generation, coverage: Coverage, seconds: float) -> None:
        self._slow.pop(generation.id, None)
        if seconds > self._quick_seconds:
            self._slow[generation.id] = (time.monotonic() + seconds * _SHOWN_AGAIN, coverage)

    async def close(self) -> None:
        for task in self._counting.values():
            task.cancel()
        await asyncio.gather(*self._counting.values(), return_exceptions=True)

    async def _count(self, connection: Connection, generation: Generation) -> Coverage:
        began = time.monotonic()
        counted = await count_coverage(connection, generation)
        self.put(generation, counted, time.monotonic() - began)
        return counted

    async def _renew(self, generation: Generation) -> None:
        with suppress(Exception):  # the next search asks again
            async with self._app.connection() as connection:
                await self._count(connection, generation)


async def count_coverage(connection: Connection, generation: Generation) -> Coverage:
    """Now, whatever it costs."""
    row = await connection.fetchrow(_coverage.count, generation.id)
    return Coverage(**row, pending=row["total"] - row["indexed"] - row["stale"], generation=generation.name)


async def breakdown(connection: Connection, generation: Generation) -> Breakdown:
    """By the tasks that the saves made, which are those of the generation that was active then."""
    return Breakdown(**await connection.fetchrow(_coverage.breakdown, generation.id))


async def chunks(connection: Connection, generation: Generation) -> int:
    """Vectors of a generation, now."""
    found: int = await connection.fetchval(_coverage.chunks, generation.id)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts(WireRecord):
    """Embedding tasks by status, counted in one look at the table. What was not needed any more is completed, too."""

    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatistics(WireRecord):
    """Of the last 24 hours. `running`: a live worker has this stage; `averageMs`: mean time of a run."""

    running: bool
    succeeded: int
    failed: int
    average_ms: float | None
    last_processed_at: datetime | None
    heartbeat_at: datetime | None
    processed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness(WireRecord):
    """From a save until its text is found by meaning, over the `measured` articles of the last 24 hours."""

    p50_ms: float | None
    p95_ms: float | None
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """``enabled`` false: articles are embedded in the request that saves them, and nothing is queued."""

    enabled: bool
    queue: QueueCounts
    worker: WorkerStatistics
    freshness: Freshness


async def statistics(app: Penstock) -> Statistics:
    """Read in one snapshot."""
    async with app.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        worker = await connection.fetchrow(_sql.worker, PIPELINE)
        return Statistics(
            enabled=app.settings.of(ArticleSettings).enabled,
            queue=await counts(connection),
            worker=WorkerStatistics(**worker, processed=worker["succeeded"] + worker["failed"]),
            freshness=Freshness(**await connection.fetchrow(_sql.freshness)),
        )


async def counts(connection: Connection) -> QueueCounts:
    """Exact at one moment."""
    row = await connection.fetchrow(_sql.counts, PIPELINE)
    return QueueCounts(**row, total=sum(row.values()))
