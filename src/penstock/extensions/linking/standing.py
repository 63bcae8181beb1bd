"""Where a run stands in the engine. One function per query of ``sql/standing.sql``."""

from dataclasses import dataclass
from typing import Any

from penstock.storage.queries import load

_sql = load("standing", "penstock.extensions.linking")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """``wanted``: entities are still to be fetched."""

    searches: int
    fetches: int
    scores: int
    wanted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Of a stage: paused by people, served by a live worker."""

    paused: bool
    served: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBudget:
    """``rate`` None: not limited."""

    rate: float | None
    blocked_seconds: float
    blocked_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """What failed and is tried again. ``error``: of the one that failed last."""

    count: int
    next_seconds: float | None
    error: str | None


async def retrying(connection: Connection, job_id: int) -> Retrying:
    return Retrying(**await connection.fetchrow(_sql.retrying, job_id))


async def left_of_job(connection: Connection, job_id: int) -> Left:
    return Left(**await connection.fetchrow(_sql.left_of_job, job_id))


async def ended_lately(connection: Connection, job_id: int, seconds: float) -> int:
    count: int = await connection.fetchval(_sql.ended_lately, job_id, seconds)
    return count


async def ended(connection: Connection, job_id: int) -> int:
    count: int = await connection.fetchval(_sql.ended, job_id)
    return count


async def serving(connection: Connection, pipeline: str) -> Serving:
    row = await connection.fetchrow(_sql.serving, pipeline)
    return Serving(paused=False, served=False) if row is None else Serving(**row)


async def budget(connection: Connection, key: str) -> SourceBudget:
    row = await connection.fetchrow(_sql.budget, key)
    return SourceBudget(rate=None, blocked_seconds=0.0, blocked_reason=None) if row is None else SourceBudget(**row)


async def paused(connection: Connection, job_id: int) -> bool:
    return bool(await connection.fetchval(_sql.paused, job_id))


async def abandoned(connection: Connection, project_id: int | None = None, limit: int = 100) -> list[int]:
    """Projects in a run that no task is left of; ``project_id`` None: any."""
    return [row["id"] for row in await connection.fetch(_sql.abandoned, project_id, limit)]


async def cancelled(connection: Connection, job_id: int) -> bool:
    return bool(await connection.fetchval(_sql.cancelled, job_id))
