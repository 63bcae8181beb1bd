"""What a job's tasks came to, and the state that follows: one reading for handles, CLI and pages. And what it was
submitted with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from penstock.errors import JobNotFound
from penstock.lifecycle import JobState
from penstock.storage import jobs, reads


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
    return state_of(moved), counts_of(moved)


def counts_of(moved: Mapping[str, Any]) -> JobCounts:
    """From a row of the view ``job_states``. What still waits in a cancelled job is as good as cancelled."""
    return JobCounts(**{one.name: moved[one.name] for one in fields(JobCounts)})


def state_of(moved: Mapping[str, Any]) -> JobState:
    return JobState[moved["state"]]


async def metadata_of(connection: Any, job_id: int) -> Mapping[str, Any]:
    job = await jobs.get(connection, job_id)
    if job is None:
        raise JobNotFound(job_id)
    metadata: Mapping[str, Any] = job["metadata"]
    return metadata
