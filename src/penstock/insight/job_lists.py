"""Pages of jobs as people look for them, with rate, ETA and its cause; a look at a bounded number of jobs each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from penstock.insight.job_views import JobView, view_of
from penstock.insight.waiting import Cause, cause_of_job
from penstock.lifecycle import JobState
from penstock.storage import job_lists, jobs, reads, workers
from penstock.storage.job_lists import JobFilter

__all__ = ["JobFilter", "JobsFound", "causes", "find"]

Connection = Any
_LOOKED_AT = 5000
# The state of a job follows from its counters, which are read for as many as this at most.
_JUDGED = 1000
_AT_ONCE = 200
_MOVING = (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsFound:
    """``next_before`` None: there is no more. A page may be short, or empty, and still have a next one."""

    jobs: tuple[JobView, ...]
    causes: Mapping[int, Cause]
    next_before: int | None


async def find(
    connection: Connection, wanted: JobFilter, *, state: JobState | None = None, before: int | None, limit: int
) -> JobsFound:
    """Newest first, in one snapshot."""
    narrowed = _narrowed(wanted, state)
    found: list[tuple[Mapping[str, Any], JobView, bool]] = []
    looked = judged = 0
    place = before
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        now = await jobs.database_now(connection)
        while True:
            some = limit if state is None else _AT_ONCE
            window = await job_lists.window(
                connection, narrowed, before=place, limit=some, looked_at=_LOOKED_AT - looked
            )
            looked, judged, place = looked + window.looked, judged + len(window.jobs), window.next_before
            moved = await reads.job_movements(connection, [row["id"] for row in window.jobs])
            for row in window.jobs:
                view = view_of(row, moved[row["id"]], now)
                if state in (None, view.state):
                    found.append((row, view, moved[row["id"]]["importing"]))
            if len(found) >= limit or place is None or looked >= _LOOKED_AT or judged >= _JUDGED:
                break
        if len(found) > limit or (len(found) == limit and state is not None):
            found = found[:limit]
            place = found[-1][1].id
        return await _paced(connection, found, now, place)


def _narrowed(wanted: JobFilter, state: JobState | None) -> JobFilter:
    """What the row of a job tells of its state; the rest is in its counters."""
    match state:
        case None:
            return wanted
        case JobState.CANCELLED:
            return replace(wanted, cancelled=True)
        case JobState.PAUSED:
            return replace(wanted, paused=True, cancelled=False)
        case JobState.QUEUED | JobState.RUNNING:
            return replace(wanted, paused=False, cancelled=False)
        case _:
            return replace(wanted, cancelled=False)


async def _paced(
    connection: Connection,
    found: Sequence[tuple[Mapping[str, Any], JobView, bool]],
    now: datetime,
    next_before: int | None,
) -> JobsFound:
    moving = [view.id for _, view, _ in found if view.state in _MOVING]
    paces = await job_lists.paces(connection, moving) if moving else {}
    why = await causes(connection, found, now)
    return JobsFound(
        jobs=tuple(_with_pace(view, paces.get(view.id), why.get(view.id)) for _, view, _ in found),
        causes=why,
        next_before=next_before,
    )


def _with_pace(view: JobView, pace: float | None, cause: Cause | None) -> JobView:
    left = view.counts.pending + view.counts.processing
    known = bool(pace and left) and not (cause is not None and cause.stops)
    return replace(view, per_second=pace, eta_seconds=left / pace if pace and known else None)


async def causes(
    connection: Connection, found: Sequence[tuple[Mapping[str, Any], JobView, bool]], now: datetime
) -> dict[int, Cause]:
    """What holds up those that are open: (row, view, whether its file is still being stored) each."""
    open_jobs = [one for one in found if one[1].state in (*_MOVING, JobState.PAUSED)]
    if not open_jobs:
        return {}
    heads = await job_lists.heads(connection, [view.id for _, view, _ in open_jobs])
    live = [one for one in await workers.listing(connection) if one["live"]]
    limited = {head["stage"] for rows in heads.values() for head in rows if head["max_running"] is not None}
    running = {stage: await reads.leased_of_stage(connection, stage) for stage in sorted(limited)}
    why: dict[int, Cause] = {}
    for row, view, importing in open_jobs:
        of_job = heads.get(view.id, [])
        cause = cause_of_job(row, view.state, importing=importing, heads=of_job, live=live, running=running, now=now)
        if cause is not None:
            why[view.id] = cause
    return why
