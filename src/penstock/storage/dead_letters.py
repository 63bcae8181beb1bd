"""Dead letters. One function per query of ``sql/dead_letters.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.storage.queries import Connection, Record, load
from penstock.storage.reads import NEWEST, WINDOW, Place

_sql = load("dead_letters")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """``error``: as stored; old workers and other languages may have written what they liked."""

    task_id: int
    job_id: int | None
    owner: str | None
    pipeline: str
    stage: str
    attempts: int
    run: int
    finished_at: datetime
    error: Mapping[str, Any]
    input: Mapping[str, Any]
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterPage:
    rows: tuple[DeadLetter, ...]
    next: Place | None


async def page(connection: Connection, wanted: DeadLetterFilter, *, after: Place | None, limit: int) -> DeadLetterPage:
    """A page may be empty and have a ``next``: then nothing of what was looked at matched."""
    behind = after or LATEST
    window = WINDOW if wanted.narrows else limit
    place = (behind.at, behind.task_id, wanted.since or _EARLIEST, window)
    kind = (wanted.pipeline, wanted.error_type, wanted.job_id)
    rows = await connection.fetch(_sql.page, *place, *kind, limit, wanted.owner)
    looked, last = rows[0]["looked"], Place(task_id=rows[0]["last_id"] or 0, at=rows[0]["last_at"])
    found = tuple(_letter(row) for row in rows if row["task_id"] is not None)
    if found and len(found) >= limit:
        return DeadLetterPage(rows=found, next=Place(task_id=found[-1].task_id, at=found[-1].finished_at))
    return DeadLetterPage(rows=found, next=last if looked >= window else None)


def _letter(row: Mapping[str, Any]) -> DeadLetter:
    values = {one.name: row[one.name] for one in fields(DeadLetter)}
    return DeadLetter(**values | {"error": orjson.loads(row["error"] or "{}"), "input": orjson.loads(row["input"])})


origin = Record[[int], dict[str, Any]](_sql.origin, dict)


async def copy(connection: Connection, source: dict[str, Any], new_input: str) -> int:
    """The idempotency key stays with the original: it names a request, and this one was changed by a person."""
    new = (source["pipeline"], new_input, source["priority"] or 0)
    kept = (source[name] for name in ("lane", "owner", "job_id", "options", "trace", "task_id"))
    task_id: int = await connection.fetchval(_sql.copy, *new, *kept)
    return task_id


async def failed_again(connection: Connection, replayed: Sequence[tuple[int, datetime, str | None]]) -> int:
    """``replayed``: task, when it had failed, and its error type then."""
    tasks, times, types = zip(*replayed, strict=True)
    count: int = await connection.fetchval(_sql.failed_again, list(tasks), list(times), list(types))
    return count
