"""Jobs as lists and pictures of their time show them. One function per query of ``sql/job_lists.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.storage.queries import Connection, load

_sql = load("job_lists")
FROM_THE_NEWEST = 2**63 - 1
_PACE_LOOKED_AT = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """``owner`` None: everybody's. ``word``: somewhere in the name of the job or of its file."""

    owner: str | None = None
    pipeline: str | None = None
    word: str | None = None
    paused: bool | None = None
    cancelled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWindow:
    """``next_before`` None: there is no more. It may be empty and still go on."""

    jobs: list[dict[str, Any]]
    looked: int
    next_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    minute: datetime
    done: int
    failed: int


async def window(
    connection: Connection, wanted: JobFilter, *, before: int | None, limit: int, looked_at: int
) -> JobWindow:
    """Newest first; at most ``looked_at`` jobs are looked at."""
    pattern = None if wanted.word is None else f"%{_escaped(wanted.word)}%"
    start = FROM_THE_NEWEST if before is None else before
    values = [start, looked_at, limit, wanted.pipeline, pattern, wanted.paused, wanted.cancelled]
    if wanted.owner is None:
        rows = await connection.fetch(_sql.newest, *values)
    else:
        rows = await connection.fetch(_sql.newest_of_owner, *values, wanted.owner)
    looked, last_id = rows[0]["looked"], rows[0]["last_id"]
    found = [_job(row) for row in rows if row["id"] is not None]
    if len(found) == limit:
        return JobWindow(jobs=found, looked=looked, next_before=found[-1]["id"])
    return JobWindow(jobs=found, looked=looked, next_before=last_id if looked == looked_at else None)


async def paces(connection: Connection, job_ids: Sequence[int]) -> dict[int, float]:
    return dict(await connection.fetch(_sql.paces, job_ids, _PACE_LOOKED_AT))


async def heads(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
    """By job: what is first in line in each of its stages, in the order of the pipeline."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in await connection.fetch(_sql.heads, job_ids):
        found.setdefault(row["job_id"], []).append(row)
    return found


async def ends(connection: Connection, job_id: int) -> tuple[datetime | None, datetime | None]:
    row = await connection.fetchrow(_sql.ends, job_id)
    return row["first_at"], row["last_at"]


async def minutes(connection: Connection, job_id: int, *, at_most: int) -> tuple[list[Minute], datetime | None]:
    """(minutes in which something ended, the time before which nothing was counted)."""
    rows = await connection.fetch(_sql.minutes, job_id, at_most)
    found = [Minute(minute=row["minute"], done=row["done"], failed=row["failed"]) for row in rows]
    return found, rows[0]["cut_at"] if rows else None


def _escaped(word: str) -> str:
    """What a pattern gives a meaning to is looked for as it is."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _job(row: Any) -> dict[str, Any]:
    job = {name: value for name, value in row.items() if name not in ("looked", "last_id")}
    job["metadata"] = orjson.loads(job["metadata"])
    return job
