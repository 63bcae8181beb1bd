"""Takes away the rows and files of deleted jobs, and uploads that were cut."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import files, jobs

_BATCH = 2000
_JOBS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDeleted:
    """A batch per job and round, so that a large job goes little by little. The job's own row goes last, and not before
    every transaction that may have been storing rows of it has ended."""

    settled_seconds: float = 120.0
    name: str = "deleted"
    every_seconds: float = 5.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        tasks = gone = 0
        for job_id in await jobs.deleted(connection, _JOBS):
            removed = await jobs.remove_rows(connection, job_id, _BATCH)
            tasks += removed
            if not removed:
                gone += await jobs.remove(connection, job_id, after_seconds=self.settled_seconds)
        cut = await files.unfinished(connection, _BATCH)
        if cut:
            await files.discard(connection, cut)
        return {"tasks": tasks, "jobs": gone, "uploads": len(cut)}
