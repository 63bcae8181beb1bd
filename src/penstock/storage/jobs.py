"""Jobs. One function per query of ``sql/jobs.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.storage.queries import Changed, Column, Connection, Record, Records, Value, load

_sql = load("jobs")
_JSON = ("metadata",)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


async def create(
    connection: Connection,
    *,
    pipeline: str,
    name: str | None,
    owner: str | None,
    idempotency_key: str | None,
    metadata: str,
) -> tuple[int, bool]:
    """(job, whether it is new): the same idempotency key gives the same job."""
    job: int | None = await connection.fetchval(_sql.create, pipeline, name, owner, idempotency_key, metadata)
    if job is not None:
        return job, True
    found = await by_idempotency_key(connection, pipeline, idempotency_key or "")
    assert found is not None
    return found, False


by_idempotency_key = Value[[str, str], int | None](_sql.by_idempotency_key)  # pipeline, idempotency_key
get = Record[[int], dict[str, Any]](_sql.get, dict, json=_JSON)
get_many = Records[[Sequence[int]], dict[str, Any]](_sql.get_many, dict, json=_JSON)  # job_ids
# Newest first.
listing = Records[[int | None, str | None, int], dict[str, Any]](_sql.list, dict, json=_JSON)  # before, owner, limit
pause = Changed[[int, str, str | None]](_sql.pause)  # job_id, by, reason
resume = Changed[[int]](_sql.resume)
cancel = Changed[[int, str]](_sql.cancel)  # job_id, by
deleted = Column[[int], int](_sql.deleted)  # limit
# How many tasks were taken away; running ones stay until they have let go.
remove_rows = Value[[int, int], int](_sql.remove_rows)  # job_id, batch
database_now = Value[[], datetime](_sql.now)


async def metadata_of(connection: Connection, job_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    rows = await connection.fetch(_sql.metadata_of, job_ids)
    return {row["id"]: orjson.loads(row["metadata"]) for row in rows}


async def delete(connection: Connection, job_id: int, by: str) -> bool:
    """Cancelled first, unless it was: nothing of it may go on unseen."""
    async with connection.transaction():
        await cancel(connection, job_id, by)
        return await connection.fetchval(_sql.delete, job_id) is not None


async def remove(connection: Connection, job_id: int, *, after_seconds: float) -> bool:
    """The job itself, once it holds nothing any more and was deleted so long ago."""
    return await connection.fetchval(_sql.remove, job_id, after_seconds) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTask:
    """``attempts_left``: it ended before it used up its attempts."""

    task_id: int
    finished_at: datetime
    attempts_left: bool


async def finished_tasks(
    connection: Connection, job_id: int, status: int, until: datetime, limit: int, after: FinishedTask | None = None
) -> list[FinishedTask]:
    place = (_EARLIEST, 0) if after is None else (after.finished_at, after.task_id)
    rows = await connection.fetch(_sql.finished_tasks, job_id, status, until, limit, *place)
    return [FinishedTask(**row) for row in rows]


async def expire(connection: Connection, keep_seconds: float, batch: int = 1000) -> int:
    """Two statements in one transaction: hold what looks empty, then look again with a newer snapshot."""
    async with connection.transaction():
        rows = await connection.fetch(_sql.lock_expired, keep_seconds, batch)
        if not rows:
            return 0
        lanes = [row["lane"] for row in rows]
        count: int = await connection.fetchval(_sql.expire, list({row["job"] for row in rows}), lanes)
        return count
