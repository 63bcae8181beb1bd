"""What a job's tasks came to, and the state that follows: one reading for handles, CLI and pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import JobNotFound
from penstock.lifecycle import JobState
from penstock.storage import reads


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Exact when read; always sums to ``total``."""

    total: int
    pending: int
    processing: int
    done: int
    error: int
    not_found: int
    skipped: int
    cancelled: int

    @property
    def finished(self) -> int:
        return self.total - self.pending - self.processing


async def read(connection: Any, job_id: int) -> tuple[JobState, JobCounts]:
    moved = (await reads.job_movements(connection, [job_id])).get(job_id)
    if moved is None:
        raise JobNotFound(job_id)
    counts = counts_of(moved)
    return state_of(moved, counts), counts


def counts_of(moved: Mapping[str, Any]) -> JobCounts:
    """Always sums to the total; what still waits in a cancelled job is as good as cancelled."""
    waiting = moved["present"] - moved["running"]
    return JobCounts(
        total=moved["total"],
        pending=0 if moved["cancelled"] else waiting,
        processing=moved["running"],
        done=moved["done"],
        error=moved["error"],
        not_found=moved["not_found"],
        skipped=moved["skipped"],
        cancelled=moved["cancelled_tasks"] + (waiting if moved["cancelled"] else 0),
    )


def state_of(moved: Mapping[str, Any], counts: JobCounts) -> JobState:
    """While rows of its file still come, a job is not done, even if all rows so far are. A job without tasks waits for
    its first, unless it was found to have ended and has called back."""
    if moved["cancelled"]:
        return JobState.CANCELLED
    ended = counts.finished >= counts.total and not moved["importing"]
    if ended and (counts.total or moved["import_failed"] or moved["called_back"]):
        return JobState.FAILED if counts.error or moved["import_failed"] else JobState.DONE
    if moved["paused"]:
        return JobState.PAUSED
    return JobState.RUNNING if counts.processing or counts.finished else JobState.QUEUED
