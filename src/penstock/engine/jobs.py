"""A stored job, as its submitter holds it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.engine import job_counts
from penstock.engine.handles import require_stage
from penstock.engine.job_counts import JobCounts
from penstock.errors import IllegalMove, JobNotFound, WaitTimeout
from penstock.lifecycle import JobState, State
from penstock.storage import jobs, lanes, outcomes

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

_FIRST_LOOK_SECONDS = 0.005
_LONGEST_LOOK_SECONDS = 0.5


class Job:
    """A stored job."""

    __slots__ = ("_app", "count", "created", "id")

    def __init__(self, app: "Penstock", job_id: int, count: int = 0, created: bool = True) -> None:
        self._app = app
        self.id = job_id
        # How many tasks this very call stored; counts() knows how many there are.
        self.count = count
        self.created = created

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    async def counts(self) -> JobCounts:
        async with self._app.connection() as connection:
            return (await job_counts.read(connection, self.id))[1]

    async def state(self) -> JobState:
        async with self._app.connection() as connection:
            return (await job_counts.read(connection, self.id))[0]

    async def wait(self, timeout: float | None = None, tell: Callable[[JobCounts], None] | None = None) -> JobCounts:
        """Until every task has ended. ``tell`` is called with the counts about twice a second."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_LOOK_SECONDS
        while True:
            now = await self.counts()
            if tell is not None:
                tell(now)
            if now.finished >= now.total:
                return now
            if end is not None and time.monotonic() >= end:
                state = f"running ({now.finished} of {now.total} tasks have ended)"
                raise WaitTimeout(
                    subject=f"Job {self.id}",
                    seconds=timeout or 0.0,
                    state=state,
                    ask=f"penstock jobs show {self.id}",
                )
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK_SECONDS)

    async def pause(self, *, by: str = "api", reason: str | None = None) -> None:
        await self._decide(lambda connection: jobs.pause(connection, self.id, by, reason), "pause")

    async def resume(self) -> None:
        await self._decide(lambda connection: jobs.resume(connection, self.id), "resume")
        await self._app.wake_all()

    async def cancel(self, *, by: str = "api") -> None:
        """Touches one row, whatever the size; waiting tasks read as CANCELLED at once."""
        await self._decide(lambda connection: jobs.cancel(connection, self.id, by), "cancel")

    async def reprioritise(self, priority: int) -> None:
        await self._decide(lambda connection: lanes.reprioritise_job(connection, self.id, priority), "reprioritise")

    async def reprocess(
        self,
        *,
        statuses: Sequence[State] = (State.ERROR,),
        by: str = "api",
        from_stage: str | None = None,
        reset_attempts: bool = True,
    ) -> int:
        """Run its finished tasks in these states again, a batch at a time; returns how many."""
        await require_stage(self._app, (await self._require())["pipeline"], from_stage)
        async with self._app.connection() as connection:
            until = await jobs.database_now(connection)
        total = 0
        for status in statuses:
            while True:
                async with self._app.connection() as connection:
                    found = await jobs.finished_tasks(connection, self.id, status, until, 1000)
                    started = await outcomes.reprocess(
                        connection,
                        found,
                        statuses=[status],
                        from_stage=from_stage,
                        by=by,
                        delay_seconds=0.0,
                        reset_attempts=reset_attempts,
                    )
                total += len(started)
                if not started:
                    break
        await self._app.wake_all()
        self._app.events.emit("tasks.reprocessed", job=self.id, count=total, by=by)
        return total

    async def _decide(self, change: Callable[[Any], Any], move: str) -> None:
        async with self._app.connection() as connection:
            changed = await change(connection)
        if not changed:
            state = await self.state()
            raise IllegalMove(
                move=move, subject=f"job {self.id}", state=state.name, allowed_from=["QUEUED", "RUNNING", "PAUSED"]
            )

    async def _require(self) -> dict[str, Any]:
        async with self._app.connection() as connection:
            job = await jobs.get(connection, self.id)
        if job is None:
            raise JobNotFound(self.id)
        return job
