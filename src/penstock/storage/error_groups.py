"""The newest failures, to be grouped. One function per query of ``sql/error_groups.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from penstock.storage.queries import Connection, load
from penstock.storage.reads import WINDOW

_sql = load("error_groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    task_id: int
    finished_at: datetime
    pipeline: str
    stage: str
    type: str | None
    kind: str | None
    place: str | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """``complete``: nothing that matches was left out."""

    found: tuple[Failure, ...]
    complete: bool


async def newest(
    connection: Connection, *, hours: float, owner: str | None, most: int, message_characters: int
) -> Failures:
    """Of one owner, those among the newest of all that a page of dead letters would look at."""
    window = most if owner is None else WINDOW
    rows = await connection.fetch(_sql.newest, hours, window, owner, most, message_characters)
    found = _failures([row for row in rows if row["task_id"] is not None])
    return Failures(found=found, complete=rows[0]["looked"] < window and len(found) < most)


async def window(
    connection: Connection,
    job_id: int,
    *,
    newest_first: bool,
    behind: tuple[datetime, int],
    since: datetime,
    until: datetime,
    most: int,
    message_characters: int,
) -> list[tuple[int, datetime, Mapping[str, Any]]]:
    """(task, when it failed, as much of the error as grouping needs), next to a place."""
    query = _sql.of_job_backwards if newest_first else _sql.of_job_forwards
    rows = await connection.fetch(query, job_id, *behind, since, until, most, message_characters)
    return [
        (row["task_id"], row["finished_at"], {"type": row["type"], "where": row["place"], "message": row["message"]})
        for row in rows
    ]


async def of_job(connection: Connection, job_id: int, *, hours: float, most: int, message_characters: int) -> Failures:
    found = _failures(await connection.fetch(_sql.of_job, job_id, hours, most, message_characters))
    return Failures(found=found, complete=len(found) < most)


def _failures(rows: Sequence[Any]) -> tuple[Failure, ...]:
    return tuple(Failure(**{one.name: row[one.name] for one in fields(Failure)}) for row in rows)
