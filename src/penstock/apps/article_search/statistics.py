"""Figures of the embedding queue, its workers and the index's freshness. One function per query of
``sql/statistics.sql``, and one that reads all three in one snapshot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock import Penstock
from penstock.apps.article_search.names import PIPELINE
from penstock.storage.queries import load

_sql = load("statistics", "penstock.apps.article_search")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Exact at one moment. An embedding that was not needed any more counts as completed."""

    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int

    @property
    def total(self) -> int:
        return self.pending + self.processing + self.completed + self.failed + self.cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatistics:
    """Of the last 24 hours. ``running``: a live worker serves the stage; ``average_ms``: mean time of a run."""

    running: bool
    succeeded: int
    failed: int
    average_ms: float | None
    last_processed_at: datetime | None
    heartbeat_at: datetime | None

    @property
    def processed(self) -> int:
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """From a save until its text is found by meaning, over the ``measured`` articles of the last 24 hours."""

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

    @property
    def pending(self) -> int:
        return self.queue.pending

    @property
    def processing(self) -> int:
        return self.queue.processing

    @property
    def completed(self) -> int:
        return self.queue.completed

    @property
    def failed(self) -> int:
        return self.queue.failed

    @property
    def cancelled(self) -> int:
        return self.queue.cancelled

    @property
    def total(self) -> int:
        return self.queue.total


async def statistics(app: Penstock) -> Statistics:
    async with app.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        return Statistics(
            enabled=app.settings.articles_enabled,
            queue=await counts(connection),
            worker=await worker(connection),
            freshness=await freshness(connection),
        )


async def counts(connection: Connection) -> QueueCounts:
    return QueueCounts(**await connection.fetchrow(_sql.counts, PIPELINE))


async def worker(connection: Connection) -> WorkerStatistics:
    return WorkerStatistics(**await connection.fetchrow(_sql.worker, PIPELINE))


async def freshness(connection: Connection) -> Freshness:
    return Freshness(**await connection.fetchrow(_sql.freshness))
