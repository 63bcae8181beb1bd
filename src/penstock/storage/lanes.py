"""Lanes: fairness, pause and cancel. One function per query of ``sql/lanes.sql``."""

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.model import LaneView
from penstock.storage.queries import Connection, Counted, Records, Value, load
from penstock.storage.stages import Limits

_sql = load("lanes")


async def served(connection: Connection, pipelines: Sequence[str]) -> tuple[list[LaneView], list[Limits]]:
    """The lanes that may hold something, and the limits of every stage there is, whoever serves it."""
    return _served(await connection.fetch(_sql.served, pipelines))


async def served_of_job(connection: Connection, job_id: int) -> tuple[list[LaneView], list[Limits]]:
    return _served(await connection.fetch(_sql.served_of_job, job_id))


def _served(rows: Iterable[Any]) -> tuple[list[LaneView], list[Limits]]:
    lanes: list[LaneView] = []
    limits: list[Limits] = []
    for row in rows:
        if row["priority"] is not None:
            lanes.append(LaneView(**dict(row)))
            continue
        limits.append(
            Limits(id=row["id"], pipeline=row["pipeline"], max_running=row["max_running"], paused=row["paused"])
        )
    return lanes, limits


async def open_lane(
    connection: Connection, *, pipeline: str, key: str, priority: int, owner: str | None, job_id: int | None
) -> int:
    return int(await connection.fetchval(_sql.open, pipeline, key, priority, owner, job_id))


of_job = Records[[int], dict[str, Any]](_sql.of_job, dict)
follow_jobs = Counted[[]](_sql.follow_jobs)
# The job a lane belongs to; what is decided about it is decided about the job.
job_of_key = Value[[str, str], int | None](_sql.job_of_key)  # pipeline, key
reprioritise_job = Counted[[int, int]](_sql.reprioritise_job)  # job_id, priority
resume = Counted[[str, str]](_sql.resume)  # pipeline, key
cancel = Counted[[str, str, str]](_sql.cancel)  # pipeline, key, by
activate_woken = Counted[[]](_sql.activate_woken)
activate_stranded = Counted[[]](_sql.activate_stranded)


async def pause(connection: Connection, pipeline: str, key: str, *, by: str, reason: str | None) -> int:
    return len(await connection.fetch(_sql.pause, pipeline, key, by, reason))


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
