"""A stored job, as its submitter holds it."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core import job_counts, job_metadata, job_moves
from penstock.core.app import App
from penstock.core.job_counts import JobCounts
from penstock.core.outage import NoAnswerInTime, Outage
from penstock.errors import WaitTimeout
from penstock.lifecycle import UNSUCCESSFUL, JobState, State
from penstock.model import Priority

_FIRST_LOOK_SECONDS = 0.005
_LONGEST_LOOK_SECONDS = 0.5


class Job:
    """A stored job."""

    __slots__ = ("_app", "count", "created", "id")

    def __init__(self, app: App, job_id: int, count: int = 0, created: bool = True) -> None:
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

    async def metadata(self) -> Mapping[str, Any]:
        """What it was submitted with; never changes."""
        async with self._app.connection() as connection:
            return await job_metadata.read(connection, self.id)

    async def wait(self, timeout: float | None = None, tell: Callable[[JobCounts], None] | None = None) -> JobCounts:
        """Until every task has ended, through restarts of the database. ``tell`` is called with the counts about twice
        a second."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_LOOK_SECONDS
        subject, ask = f"Job {self.id}", f"penstock jobs show {self.id}"
        await self._app.open()
        outage = Outage(self._app.events, "job", await self._app.database_url())
        while True:
            try:
                now = await outage.ask(self.counts, end)
            except NoAnswerInTime as error:
                raise WaitTimeout(subject=subject, seconds=timeout or 0.0, ask=ask, unreachable=str(error)) from None
            if tell is not None:
                tell(now)
            if now.finished >= now.total:
                return now
            if end is not None and time.monotonic() >= end:
                state = f"running ({now.finished} of {now.total} tasks have ended)"
                raise WaitTimeout(subject=subject, seconds=timeout or 0.0, state=state, ask=ask)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK_SECONDS)

    async def pause(self, *, by: str = "api", reason: str | None = None) -> None:
        await job_moves.pause(self._app, self.id, by=by, reason=reason)

    async def resume(self, *, by: str = "api") -> None:
        await job_moves.resume(self._app, self.id, by=by)

    async def cancel(self, *, by: str = "api") -> None:
        """Touches one row, whatever the size; waiting tasks read as CANCELLED at once."""
        await job_moves.cancel(self._app, self.id, by=by)

    async def delete(self, *, by: str = "api") -> None:
        """Gone for everybody at once; its rows and its file are taken away in the background."""
        await job_moves.delete(self._app, self.id, by=by)

    async def reprioritise(self, priority: int | str | Priority, *, by: str = "api") -> None:
        await job_moves.reprioritise(self._app, self.id, priority, by=by)

    async def reprocess(
        self,
        *,
        statuses: Sequence[State] = UNSUCCESSFUL,
        by: str = "api",
        from_stage: str | None = None,
        reset_attempts: bool = True,
    ) -> int:
        """Run its finished tasks in these states again, a batch at a time; returns how many.

        Without ``reset_attempts``, tasks that failed or found nothing and have used all their attempts are left out.
        """
        return await job_moves.reprocess(
            self._app, self.id, by=by, statuses=statuses, from_stage=from_stage, reset_attempts=reset_attempts
        )
