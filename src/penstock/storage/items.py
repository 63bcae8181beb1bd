"""Items: the tasks of jobs as people page through them. One function per query of ``sql/items.sql``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.lifecycle import State
from penstock.storage.queries import Command, Connection, Pairs, Value, decoded, load

_sql = load("items")
NEWEST = 2**63 - 1
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsWanted:
    """``since`` belongs to the range, ``until`` does not. ``group``: only failures of this group, of one job."""

    jobs: Sequence[int]
    states: Sequence[State]
    since: datetime = EARLIEST
    until: datetime = LATEST
    group: str | None = None


@dataclass(frozen=True, slots=True)
class ItemPosition:
    """Behind which a page starts."""

    at: datetime
    task_id: int


async def newest(
    connection: Connection, wanted: ItemsWanted, after: ItemPosition | None, limit: int
) -> list[ItemPosition]:
    start = after or ItemPosition(LATEST, NEWEST)
    return await _page(connection, _sql.newest, wanted, start, limit)


async def oldest(
    connection: Connection, wanted: ItemsWanted, after: ItemPosition | None, limit: int
) -> list[ItemPosition]:
    return await _page(connection, _sql.oldest, wanted, after or ItemPosition(EARLIEST, 0), limit)


async def _page(
    connection: Connection, query: str, wanted: ItemsWanted, start: ItemPosition, limit: int
) -> list[ItemPosition]:
    states = [int(state) for state in wanted.states]
    values = (start.at, start.task_id, limit, wanted.since, wanted.until)
    return [
        ItemPosition(row["at"], row["task_id"]) for row in await connection.fetch(query, wanted.jobs, states, *values)
    ]


async def by_row(
    connection: Connection, job_id: int, behind: ItemPosition | None, limit: int, *, backwards: bool = False
) -> list[ItemPosition]:
    query = _sql.by_row_backwards if backwards else _sql.by_row
    rows = await connection.fetch(query, job_id, 0 if behind is None else behind.task_id, limit)
    return [ItemPosition(row["at"], row["task_id"]) for row in rows]


async def of_row(connection: Connection, job_id: int, row: int) -> int | None:
    """Rows of a file are stored in its order, so ids grow with row numbers: halved until found, some twenty looks."""
    bounds = await connection.fetchrow(_sql.bounds, job_id)
    low, high = bounds["first"] or 1, bounds["last"] or 0
    while low <= high:
        found = await connection.fetchrow(_sql.at_or_after, job_id, (low + high) // 2)
        if found is None:
            high = (low + high) // 2 - 1
        elif found["row"] is None:
            return None
        elif found["row"] == row:
            task: int = found["id"]
            return task
        elif found["row"] < row:
            low = found["id"] + 1
        else:
            high = (low + high) // 2 - 1
    return None


# The last copy of each that was edited.
standing_in = Pairs[[Sequence[int]], int, int](_sql.standing_in)  # task_ids
pulse = Value[[int], datetime | None](_sql.pulse)
due_in_job = Value[[int], bool](_sql.due_in_job)
next_due = Value[[int], datetime | None](_sql.next_due)
# Until the end of the transaction.
take_turn = Command[[str]](_sql.take_turn)  # owner


async def stood_first(connection: Connection, task_id: int) -> int:
    found: int | None = await connection.fetchval(_sql.stood_first, task_id)
    return task_id if found is None else found


async def rows(connection: Connection, task_ids: Sequence[int]) -> list[dict[str, Any]]:
    """In the order asked for; one that is gone is left out."""
    found = await connection.fetch(_sql.rows, task_ids)
    return [decoded(row, "input", "result", "error") | {"status": State(row["status"])} for row in found]


async def jobs_with(
    connection: Connection,
    states: Iterable[State],
    *,
    owner: str | None,
    kind: str | None,
    pipeline: str | None,
) -> list[int]:
    """Every job that may hold items in these states; without those that Penstock makes itself."""
    found: list[int]
    if not any(state.finished for state in states):
        found = await connection.fetchval(_sql.jobs_at_work, owner, kind, pipeline)
    elif owner is None:
        found = await connection.fetchval(_sql.jobs_of_all, kind, pipeline)
    else:
        found = await connection.fetchval(_sql.jobs_of, owner, kind, pipeline)
    return found


async def of_job(connection: Connection, job_id: int, task_ids: Sequence[int]) -> set[int]:
    return {row["id"] for row in await connection.fetch(_sql.of_job, job_id, task_ids)}


async def load_of_owner(connection: Connection, owner: str) -> tuple[int, int]:
    """(unfinished jobs, unfinished items)."""
    row = await connection.fetchrow(_sql.load_of_owner, owner)
    return row["jobs"], row["items"]
