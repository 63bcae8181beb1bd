"""Jobs as people see them: state, counts, rate and ETA, for one or a page of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from penstock.core.job_counts import JobCounts, counts_of, state_of
from penstock.errors import JobNotFound
from penstock.insight.job_steps import Steps, steps_of
from penstock.lifecycle import JobState
from penstock.storage import callbacks, dead_letters, imports, items, jobs, lanes, reads
from penstock.storage.callbacks import Callback
from penstock.storage.dead_letters import DeadLetter
from penstock.storage.imports import Import

Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """``per_second`` and ``eta_seconds`` are of the last minute, and None where nobody asked for them."""

    id: int
    name: str | None
    pipeline: str
    owner: str | None
    metadata: Mapping[str, Any]
    created_at: datetime
    state: JobState
    counts: JobCounts
    per_second: float | None
    eta_seconds: float | None
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    job: JobView
    steps: Steps
    # Nothing of it can run before; None: something can, or nothing waits.
    next_due_at: datetime | None
    file: Import | None
    lanes: tuple[Mapping[str, Any], ...]
    newest_errors: tuple[DeadLetter, ...]
    # What it calls, or called, when its last task ended.
    callback: Callback | None


async def page(connection: Connection, *, before: int | None, owner: str | None, limit: int) -> list[JobView]:
    """Newest first; counts of all of them in one statement."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await _views(connection, await jobs.listing(connection, before, owner, limit))


async def these(connection: Connection, job_ids: Sequence[int]) -> list[JobView]:
    """Several by their ids; one that is gone is left out."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await _views(connection, await jobs.get_many(connection, job_ids))


async def _views(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[JobView]:
    moved = await reads.job_movements(connection, [row["id"] for row in rows])
    now = await jobs.database_now(connection)
    return [view_of(row, moved[row["id"]], now) for row in rows]


async def show(connection: Connection, job_id: int, errors: int = 3) -> JobDetails:
    """One job with its steps, lanes and newest errors."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await jobs.get(connection, job_id)
        if row is None:
            raise JobNotFound(job_id)
        moved = (await reads.job_movements(connection, [job_id]))[job_id]
        at_stages = await reads.job_steps(connection, job_id)
        lately = await reads.job_ended_lately(connection, job_id)
        of_job = await lanes.of_job(connection, job_id)
        wanted = dead_letters.DeadLetterFilter(job_id=job_id)
        failed = await dead_letters.page(connection, wanted, after=None, limit=errors)
        due_at = None if moved["processing"] else await items.next_due(connection, job_id)
        file = await imports.get(connection, job_id)
        callback = await callbacks.get(connection, job_id)
        now = await jobs.database_now(connection)
    view = view_of(row, moved, now, per_second=lately / min(60.0, max((now - row["created_at"]).total_seconds(), 1.0)))
    if due_at is not None:
        view = replace(view, eta_seconds=None)  # the rate of the last minute says nothing about what is not due
    return JobDetails(
        job=view,
        steps=steps_of(view.state, at_stages),
        next_due_at=due_at,
        file=file,
        lanes=tuple(of_job),
        newest_errors=failed.rows,
        callback=callback,
    )


def view_of(
    row: Mapping[str, Any], moved: Mapping[str, Any], now: datetime, per_second: float | None = None
) -> JobView:
    counts = counts_of(moved)
    left = counts.pending + counts.processing
    state = state_of(moved)
    moving = state in (JobState.QUEUED, JobState.RUNNING)
    return JobView(
        id=row["id"],
        name=row["name"],
        pipeline=row["pipeline"],
        owner=row["owner"],
        metadata=row["metadata"],
        created_at=row["created_at"],
        state=state,
        counts=counts,
        per_second=per_second,
        eta_seconds=left / per_second if per_second and left and moving else None,
        read_at=now,
    )
