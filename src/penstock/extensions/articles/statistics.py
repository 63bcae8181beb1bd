"""Figures of the embedding queue, its workers and the index's freshness, read in one snapshot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock import Penstock
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("statistics", "penstock.extensions.articles")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Embedding tasks by status, counted in one look at the table. What was not needed any more is completed, too."""

    __pydantic_config__ = WIRE

    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatistics:
    """Of the last 24 hours. `running`: a live worker has this stage; `averageMs`: mean time of a run."""

    __pydantic_config__ = WIRE

    running: bool
    succeeded: int
    failed: int
    average_ms: float | None
    last_processed_at: datetime | None
    heartbeat_at: datetime | None
    processed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """From a save until its text is found by meaning, over the `measured` articles of the last 24 hours."""

    __pydantic_config__ = WIRE

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
