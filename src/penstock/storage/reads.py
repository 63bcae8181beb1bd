"""The read side: lists, loads and the position of one task. One function per query of ``sql/reads.sql``.

Every list is a page behind a position. A page may be short and still have a ``next``: a filter looks at a bounded
number of rows per page, so that a rare match costs more pages, never a slow one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.lifecycle import State
from penstock.storage.queries import Column, Connection, Record, Records, Value, decoded, load

_sql = load("reads")
Row = dict[str, Any]

NEWEST = 2**63 - 1
_COUNTED_AT_MOST = 20_000
WINDOW = 10_000
LONGEST_PAGE = 1000
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page ended. ``at`` is set in lists that are ordered by a time."""

    task_id: int
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """One state at most: each state is another list, with an order and an index of its own."""

    state: State | None = None
    pipeline: str | None = None
    job_id: int | None = None
    owner: str | None = None

    @property
    def narrows(self) -> bool:
        return self.pipeline is not None or self.owner is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task in a list. ``input_summary``: the beginning of its input as JSON."""

    task_id: int
    job_id: int | None
    owner: str | None
    pipeline: str
    stage: str
    state: State
    attempts: int
    max_attempts: int | None
    run: int
    worker: int | None
    run_at: datetime | None
    updated_at: datetime
    created_at: datetime
    input_summary: str | None
    error_type: str | None
    error_message: str | None
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    rows: tuple[TaskRow, ...]
    next: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """With what it holds, from the counters."""

    id: int
    pipeline: str
    key: str
    priority: int
    job_id: int | None
    owner: str | None
    weight: int
    max_running: int | None
    active: bool
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    cancelled_at: datetime | None
    cancelled_by: str | None
    opened_at: datetime | None
    waiting: int
    running: int
    read_at: datetime


async def task_page(
    connection: Connection, wanted: TaskFilter, *, after: Place | None = None, limit: int = 50
) -> TaskPage:
    """One page of tasks. Newest first, except PENDING (what is due first) and a job's endings (newest ending first)."""
    limit = min(max(limit, 1), LONGEST_PAGE)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        ids, place = await _found(connection, wanted, after, limit)
        rows = await task_rows(connection, ids)
    return TaskPage(rows=tuple(rows[one] for one in ids if one in rows), next=place)


Found = tuple[list[int], Place | None]


async def _found(connection: Connection, wanted: TaskFilter, after: Place | None, limit: int) -> Found:
    narrowed = (wanted.pipeline, wanted.job_id, wanted.owner)
    before = NEWEST if after is None else after.task_id
    match wanted.state:
        case None:
            window = WINDOW if wanted.narrows else limit
            values = (before, window, wanted.pipeline, wanted.owner, limit)
            if wanted.job_id is None:
                return _windowed(await connection.fetch(_sql.newest, *values), window, limit)
            return _windowed(await connection.fetch(_sql.newest_of_job, *values, wanted.job_id), window, limit)
        case State.PENDING:
            at, task_id = (_EARLIEST, 0) if after is None else (after.at or _EARLIEST, after.task_id)
            return _timed(await connection.fetch(_sql.waiting, at, task_id, limit, *narrowed), limit)
        case State.PROCESSING:
            ids = [row["task_id"] for row in await connection.fetch(_sql.running, before, limit, *narrowed)]
            return ids, Place(task_id=ids[-1]) if len(ids) == limit else None
        case state if wanted.job_id is not None:
            # A job has one pipeline and one owner, so those two narrow nothing here.
            at = _LATEST if after is None else after.at or _LATEST
            rows = await connection.fetch(_sql.finished_of_job, wanted.job_id, state, at, before, limit)
            return _timed(rows, limit)
        case state:
            rows = await connection.fetch(_sql.finished, before, WINDOW, wanted.pipeline, wanted.owner, limit, state)
            return _windowed(rows, WINDOW, limit)


def _windowed(rows: Sequence[Any], window: int, limit: int) -> Found:
    """A full page goes on behind its last row, a full window behind the last row that was looked at."""
    ids = [row["task_id"] for row in rows if row["task_id"] is not None]
    if len(ids) >= limit:
        return ids, Place(task_id=ids[-1])
    if rows and rows[0]["looked"] >= window:
        return ids, Place(task_id=rows[0]["last_id"])
    return ids, None


def _timed(rows: Sequence[Any], limit: int) -> Found:
    ids = [row["task_id"] for row in rows]
    return ids, Place(task_id=ids[-1], at=rows[-1]["at"]) if len(ids) == limit else None


async def task_rows(connection: Connection, task_ids: Sequence[int]) -> dict[int, TaskRow]:
    rows = await connection.fetch(_sql.task_rows, task_ids)
    return {row["task_id"]: TaskRow(**{**row, "state": State[row["state"]]}) for row in rows}


async def stage_load(connection: Connection) -> list[Row]:
    """``present`` less ``running`` is what waits; ``held`` counts paused lanes that hold something."""
    rows = [decoded(row, "policy") for row in await connection.fetch(_sql.stage_load)]
    for row in rows:
        row["waiting"] = max(row.pop("present") - row["running"], 0)
    return rows


async def stage_rates(connection: Connection) -> dict[int, Row]:
    return {row["stage"]: dict(row) for row in await connection.fetch(_sql.stage_rates)}


lane_page = Records[[int, bool, str | None, int], Lane](_sql.lanes, Lane)  # before, idle_too, pipeline, limit
# None: there is no such lane, or it belongs to a job.
waiting_in_lane = Value[[str, str], int | None](_sql.waiting_in_lane)  # pipeline, key
# In the order of the pipeline. ``well`` ended there without a failure; ``present`` includes ``running``.
job_steps = Records[[int], Row](_sql.job_steps, dict)
position = Record[[int], Row](_sql.position, dict)
servers_of_stage = Records[[int], Row](_sql.servers_of_stage, dict, json=("status",))  # stage
leased_of_stage = Value[[int], int](_sql.leased_of_stage)  # stage
leased_of_lane = Value[[str, int], int](_sql.leased_of_lane)  # pipeline, lane
pipelines = Column[[], str](_sql.pipelines)
skewed = Records[[float], Row](_sql.skewed, dict)  # longer_than_seconds
stages_without_worker = Records[[], Row](_sql.stages_without_worker, dict)


async def ahead_in_lane(
    connection: Connection, *, stage: int, lane: int, run_at: datetime, task_id: int, at_most: int
) -> int:
    return int(await connection.fetchval(_sql.ahead_in_lane, stage, lane, run_at, task_id, at_most))


async def job_movements(connection: Connection, job_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    rows = await connection.fetch(_sql.job_movements, job_ids)
    return {row["job_id"]: row for row in rows}


async def job_ended_lately(connection: Connection, job_id: int) -> int:
    ended: int = await connection.fetchval(_sql.job_ended_lately, job_id, _COUNTED_AT_MOST)
    return ended


async def ahead_by_priority(connection: Connection, *, stage: int, priority: int, pipeline: str) -> tuple[int, int]:
    """(waiting in lanes that go first, lanes of the same priority that hold something, this one included)."""
    row = await connection.fetchrow(_sql.ahead_by_priority, stage, priority, pipeline)
    return max(row["ahead"], 0), row["turns"]
