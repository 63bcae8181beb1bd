"""How far a project is: exact counts, the pace, and what holds it up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.extensions.linking import projects, records, standing, watching
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import UNDER_WAY, RecordState
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.stages import FETCH, SEARCH

_LATELY_SECONDS = 10.0
# From this part of the limit on, the limit is what holds it up.
_AT_LIMIT = 0.8
_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """``counts``: every state. ``requests_left``: searches and fetches that are known by now; fetches follow from what
    searches find. ``per_second``: of the last ten seconds. ``eta_seconds`` None: nothing moves, or nothing is left.
    ``cause``: what holds it up, None where nothing does. ``failures``: of a run that ended, why records are in
    ERROR, the most frequent reasons."""

    counts: Mapping[RecordState, int]
    running: bool
    job_id: int | None
    requests_done: int = 0
    requests_left: int = 0
    per_second: float = 0.0
    eta_seconds: float | None = None
    cause: str | None = None
    failures: tuple[records.Failure, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Records that the run does not work on any more."""
        return self.total - sum(self.counts[one] for one in UNDER_WAY)


async def read(linking: "RecordLinking", project_id: int) -> Progress:
    """In one snapshot, so that the counts add up to the records. A run that nothing works on is ended by the look."""
    await watching.settle(linking, project_id)
    async with (
        linking.app.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        project = await projects.require(connection, project_id)
        counts = await records.counts(connection, project_id)
        job_id = project.job_id
        if job_id is None:
            return Progress(counts=counts, running=False, job_id=None)
        done = await standing.ended(connection, job_id)
        if not project.running:
            failures = await records.failures(connection, project_id, _REASONS) if counts[RecordState.ERROR] else ()
            return Progress(counts=counts, running=False, job_id=job_id, requests_done=done, failures=tuple(failures))
        left = await standing.left_of_job(connection, job_id)
        waiting = left.searches + left.fetches
        pace = await _pace(connection, project, job_id)
        budget = await standing.budget(connection, f"linking:{project.source}")
        cause = await _cause(connection, job_id, budget, pace, waiting)
    return Progress(
        counts=counts,
        running=True,
        job_id=job_id,
        requests_done=done,
        requests_left=waiting,
        per_second=pace,
        eta_seconds=_eta(waiting, pace, budget),
        cause=cause,
    )


async def _pace(connection: Any, project: Project, job_id: int) -> float:
    began = project.started_at or datetime.now(UTC)
    seconds = min(_LATELY_SECONDS, max((datetime.now(UTC) - began).total_seconds(), 1.0))
    return await standing.ended_lately(connection, job_id, seconds) / seconds


async def _cause(connection: Any, job_id: int, budget: standing.SourceBudget, pace: float, waiting: int) -> str | None:
    """The first thing that would stop the next request."""
    if await standing.paused(connection, job_id):
        return f"job {job_id} is paused"
    for pipeline in (SEARCH, FETCH):
        serving = await standing.serving(connection, pipeline)
        if serving.paused:
            return f"the stage {pipeline} is paused"
        if not serving.served:
            return f"no worker serves {pipeline}"
    if budget.blocked_seconds > 0:
        why = f": {budget.blocked_reason}" if budget.blocked_reason else ""
        return f"blocked for {budget.blocked_seconds:.0f} s{why}"
    retrying = await standing.retrying(connection, job_id)
    # A few failures are usual, and hold nothing up while others get through.
    if retrying.count and (pace == 0 or 2 * retrying.count >= waiting):
        return _told(retrying)
    if waiting and budget.rate is not None and pace >= _AT_LIMIT * budget.rate:
        return f"limited to {budget.rate:g} requests a second by the source"
    return None


def _told(retrying: standing.Retrying) -> str:
    several = "request tries" if retrying.count == 1 else "requests try"
    when = "now" if not retrying.next_seconds else f"in {retrying.next_seconds:.0f} s"
    said = (retrying.error or "requests fail").rstrip(".")
    return f"{said}: {retrying.count:,} {several} again, the next {when}"


def _eta(waiting: int, pace: float, budget: standing.SourceBudget) -> float | None:
    """A block comes on top; at no pace there is no telling."""
    if not waiting or pace <= 0:
        return None
    return waiting / pace + max(budget.blocked_seconds, 0.0)
