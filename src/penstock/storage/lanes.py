"""Lanes: fairness, pause and cancel. One function per query of ``sql/lanes.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.model import LaneView
from penstock.storage.queries import load

_sql = load("lanes")
Connection = Any


async def active(connection: Connection, pipelines: Sequence[str]) -> list[LaneView]:
    return [LaneView(**dict(row)) for row in await connection.fetch(_sql.active, pipelines)]


async def active_of_job(connection: Connection, job_id: int) -> list[LaneView]:
    return [LaneView(**dict(row)) for row in await connection.fetch(_sql.active_of_job, job_id)]


async def open_lane(
    connection: Connection, *, pipeline: str, key: str, priority: int, owner: str | None, job_id: int | None
) -> int:
    lane: int = await connection.fetchval(_sql.open, pipeline, key, priority, owner, job_id)
    return lane


async def of_job(connection: Connection, job_id: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch(_sql.of_job, job_id)]


async def follow_jobs(connection: Connection) -> int:
    return len(await connection.fetch(_sql.follow_jobs))


async def job_of_key(connection: Connection, pipeline: str, key: str) -> int | None:
    """The job a lane belongs to; what is decided about it is decided about the job."""
    job: int | None = await connection.fetchval(_sql.job_of_key, pipeline, key)
    return job


async def reprioritise_job(connection: Connection, job_id: int, priority: int) -> int:
    return len(await connection.fetch(_sql.reprioritise_job, job_id, priority))


async def pause(connection: Connection, pipeline: str, key: str, by: str, reason: str | None) -> int:
    return len(await connection.fetch(_sql.pause, pipeline, key, by, reason))


async def resume(connection: Connection, pipeline: str, key: str) -> int:
    return len(await connection.fetch(_sql.resume, pipeline, key))


async def cancel(connection: Connection, pipeline: str, key: str, by: str) -> int:
    return len(await connection.fetch(_sql.cancel, pipeline, key, by))


async def configure(
    connection: Connection,
    pipeline: str,
    key: str,
    *,
    weight: int | None = None,
    set_limit: bool = False,
    max_running: int | None = None,
) -> int:
    return len(await connection.fetch(_sql.configure, pipeline, key, weight, set_limit, max_running))


async def activate_woken(connection: Connection) -> int:
    return len(await connection.fetch(_sql.activate_woken))


async def activate_stranded(connection: Connection) -> int:
    return len(await connection.fetch(_sql.activate_stranded))


async def deactivate_idle(connection: Connection, *, batch: int, idle_seconds: float) -> int:
    """Two statements in one transaction: lock what looks empty, then look again with a newer snapshot."""
    async with connection.transaction():
        rows = await connection.fetch(_sql.lock_idle_candidates, batch, idle_seconds)
        if not rows:
            return 0
        return len(await connection.fetch(_sql.deactivate, [row["id"] for row in rows]))


async def expire(connection: Connection, keep_seconds: float, batch: int) -> int:
    """Two statements in one transaction: hold what looks forgotten, then look again with a newer snapshot."""
    async with connection.transaction():
        rows = await connection.fetch(_sql.lock_expired, keep_seconds, batch)
        if not rows:
            return 0
        count: int = await connection.fetchval(_sql.expire, [row["id"] for row in rows])
        return count
