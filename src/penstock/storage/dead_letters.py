"""Dead letters. One function per query of ``sql/dead_letters.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.storage.queries import load
from penstock.storage.reads import NEWEST, WINDOW, Page, Place

_sql = load("dead_letters")
Connection = Any
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = Place(task_id=NEWEST, at=datetime(9999, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """``since`` is a time of the database."""

    pipeline: str | None = None
    error_type: str | None = None
    job_id: int | None = None
    since: datetime | None = None
    owner: str | None = None

    @property
    def narrows(self) -> bool:
        return any(one is not None for one in (self.pipeline, self.error_type, self.job_id, self.owner))


async def page(connection: Connection, wanted: DeadLetterFilter, *, after: Place | None, limit: int) -> Page:
    """A page may be empty and have a ``next``: then nothing of what was looked at matched."""
    behind = after or LATEST
    window = WINDOW if wanted.narrows else limit
    rows = [
        dict(row)
        for row in await connection.fetch(
            _sql.page,
            behind.at,
            behind.task_id,
            wanted.since or _EARLIEST,
            window,
            wanted.pipeline,
            wanted.error_type,
            wanted.job_id,
            limit,
            wanted.owner,
        )
    ]
    looked, last = rows[0]["looked"], Place(task_id=rows[0]["last_id"] or 0, at=rows[0]["last_at"])
    found = tuple(_decoded(row) for row in rows if row["task_id"] is not None)
    if found and len(found) >= limit:
        return Page(rows=found, next=Place(task_id=found[-1]["task_id"], at=found[-1]["finished_at"]))
    return Page(rows=found, next=last if looked >= window else None)


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    for extra in ("looked", "last_at", "last_id"):
        del row[extra]
    row["error"] = orjson.loads(row["error"] or "{}")
    row["input"] = orjson.loads(row["input"])
    return row


async def origin(connection: Connection, task_id: int) -> dict[str, Any] | None:
    row = await connection.fetchrow(_sql.origin, task_id)
    return None if row is None else dict(row)


async def copy(connection: Connection, source: dict[str, Any], new_input: str) -> int:
    """The idempotency key stays with the original: it names a request, and this one was changed by a person."""
    task_id: int = await connection.fetchval(
        _sql.copy,
        source["pipeline"],
        new_input,
        source["priority"] or 0,
        source["lane"],
        source["owner"],
        source["job_id"],
        source["options"],
        source["trace"],
        source["task_id"],
    )
    return task_id


async def failed_again(connection: Connection, replayed: Sequence[tuple[int, datetime, str | None]]) -> int:
    """``replayed``: task, when it had failed, and its error type then."""
    tasks, times, types = zip(*replayed, strict=True)
    count: int = await connection.fetchval(_sql.failed_again, list(tasks), list(times), list(types))
    return count


async def database_now(connection: Connection) -> datetime:
    now: datetime = await connection.fetchval(_sql.now)
    return now
