"""Endings: reprocess, edit, retention. One function per query of ``sql/outcomes.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load

_sql = load("outcomes")
Connection = Any


async def reprocess(
    connection: Connection,
    task_ids: Sequence[int],
    *,
    statuses: Sequence[int],
    by: str,
    from_stage: str | None = None,
    reset_attempts: bool = True,
) -> list[int]:
    """Returns the tasks that start again; others were not finished, or not in one of the states."""
    rows = await connection.fetch(_sql.reprocess, task_ids, statuses, from_stage, by, reset_attempts)
    return [row["task_id"] for row in rows]


async def replace(connection: Connection, task_id: int, copy_id: int, by: str) -> bool:
    return bool(await connection.fetchval(_sql.replace, task_id, copy_id, by))


async def expire(connection: Connection, keep_seconds: float, batch: int) -> int:
    count: int = await connection.fetchval(_sql.expire, keep_seconds, batch)
    return count
