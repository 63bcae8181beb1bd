"""Endings: reprocess, edit, retention, clearing. One function per query of ``sql/outcomes.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.storage.queries import Connection, Pairs, load

_sql = load("outcomes")
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What one look at a window removed. ``last_id``: where the next one starts; ``last``: nothing is behind it."""

    cleared: int
    last_id: int | None
    last: bool


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


# Those of the tasks that have ended in one of the states until then, with their jobs; held until the transaction ends.
# task_ids, statuses, until
hold_ended = Pairs[[Sequence[int], Sequence[int], datetime], int, int | None](_sql.hold_ended)


async def replace(connection: Connection, task_id: int, copy_id: int, by: str) -> bool:
    return bool(await connection.fetchval(_sql.replace, task_id, copy_id, by))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """``until``: where ``count`` is less than the batch, tasks of no job that ended up to then are gone."""

    count: int
    until: datetime


async def expire(
    connection: Connection,
    keep_seconds: float | None,
    dead_seconds: float | None,
    batch: int,
    *,
    single_seconds: float,
    single_since: datetime = EARLIEST,
    single_until: datetime = LATEST,
) -> Expired:
    """``keep_seconds``, ``dead_seconds`` None: only of tasks that belong to no job, after ``single_seconds``."""
    values = (keep_seconds, dead_seconds, batch, single_seconds, single_since, single_until)
    return Expired(**await connection.fetchrow(_sql.expire, *values))


async def clear(
    connection: Connection,
    *,
    stages: Sequence[int],
    statuses: Sequence[int],
    ended_before: datetime,
    after: int,
    window: int,
) -> Cleared:
    return Cleared(**await connection.fetchrow(_sql.clear, stages, statuses, ended_before, after, window))
