"""A stored job, as its submitter holds it, and what people do with jobs: pause, resume, cancel, delete, reprioritise,
reprocess. Each touches a row or two, whatever the size of the job, except reprocess and hasten, which go a batch at a
time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from penstock import lifecycle
from penstock.core import job_counts
from penstock.core.app import App
from penstock.core.define import is_internal
from penstock.core.handles import require_stage
from penstock.core.job_counts import JobCounts
from penstock.core.outage import NoAnswerInTime, Outage
from penstock.errors import JobNotFound, NotRepeated, UsageError, WaitTimeout
from penstock.lifecycle import UNSUCCESSFUL, JobState, State
from penstock.model import Priority, priority_number
from penstock.storage import jobs, lanes, outcomes, queue

_FIRST_LOOK_SECONDS = 0.005
_LONGEST_LOOK_SECONDS = 0.5
_BATCH = 1000
_TRIES = 5


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
            return await job_counts.metadata_of(connection, self.id)

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
        await pause(self._app, self.id, by=by, reason=reason)

    async def resume(self, *, by: str = "api") -> None:
        await resume(self._app, self.id, by=by)

    async def cancel(self, *, by: str = "api") -> None:
        """Touches one row, whatever the size; waiting tasks read as CANCELLED at once."""
        await cancel(self._app, self.id, by=by)

    async def delete(self, *, by: str = "api") -> None:
        """Gone for everybody at once; its rows and its file are taken away in the background."""
        await delete(self._app, self.id, by=by)

    async def reprioritise(self, priority: int | str | Priority, *, by: str = "api") -> None:
        await reprioritise(self._app, self.id, priority, by=by)

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
        return await reprocess(
            self._app, self.id, by=by, statuses=statuses, from_stage=from_stage, reset_attempts=reset_attempts
        )


async def pause(app: App, job_id: int, *, by: str, reason: str | None = None) -> None:
    """Nothing more of it is started; what runs goes on to its end."""
    await _decide(app, job_id, "pause", lambda link: jobs.pause(link, job_id, by, reason), by=by, reason=reason)


async def resume(app: App, job_id: int, *, by: str) -> None:
    """Go on after a pause."""
    await _decide(app, job_id, "resume", lambda link: jobs.resume(link, job_id), by=by)
    await app.wake_all()


async def cancel(app: App, job_id: int, *, by: str) -> None:
    """Waiting tasks read as CANCELLED at once, running ones are asked to stop."""
    await _decide(app, job_id, "cancel", lambda link: jobs.cancel(link, job_id, by), by=by)


async def delete(app: App, job_id: int, *, by: str) -> None:
    """Nobody sees it any more; what runs is asked to stop, and upkeep takes its rows and files away."""
    await _decide(app, job_id, "delete", lambda link: jobs.delete(link, job_id, by), by=by)


async def reprioritise(app: App, job_id: int, priority: int | str | Priority, *, by: str) -> None:
    """All its lanes to another priority, whatever they hold."""
    number = priority_number(priority)
    await _decide(app, job_id, "reprioritise", lambda link: _move(link, job_id, number), by=by, priority=number)


async def reprocess(
    app: App,
    job_id: int,
    *,
    by: str,
    statuses: Sequence[State] = lifecycle.UNSUCCESSFUL,
    from_stage: str | None = None,
    reset_attempts: bool = True,
) -> int:
    """Run its finished tasks in these states again, a batch at a time; PENDING: what waits for its next try may start
    now. Without ``reset_attempts``, tasks that failed or found nothing and have used all their attempts are left out.
    Returns how many."""
    async with app.connection() as connection:
        state, _ = await job_counts.read(connection, job_id)
        lifecycle.require_of_job("reprocess", state, f"job {job_id}")
        pipeline = await _pipeline(connection, job_id)
        if is_internal(pipeline):
            raise NotRepeated(f"Job {job_id} is an action on other items")
        await require_stage(connection, pipeline, from_stage)
        if State.CANCELLED in statuses:
            await _end_cancelled(connection, job_id)
        until = await jobs.database_now(connection)
    total = await hasten(app, job_id, by=by) if State.PENDING in statuses else 0
    for status in (one for one in statuses if one.finished):
        exhausted_stay = status in lifecycle.UNSUCCESSFUL and not reset_attempts
        last = None
        while True:
            async with app.connection() as connection:
                found = await jobs.finished_tasks(connection, job_id, status, until, _BATCH, after=last)
                started = await outcomes.reprocess(
                    connection,
                    [task.task_id for task in found if task.attempts_left or not exhausted_stay],
                    statuses=[status],
                    by=by,
                    from_stage=from_stage,
                    reset_attempts=reset_attempts,
                )
            total += len(started)
            if len(found) < _BATCH:
                break
            last = found[-1]
    await app.wake_all()
    app.events.emit("tasks.reprocessed", job=job_id, count=total, by=by)
    return total


async def _end_cancelled(connection: Any, job_id: int) -> None:
    """A cancel marks the lanes, and upkeep ends what waits in them a moment later: whoever runs it again at once must
    not find nothing."""
    await lanes.follow_jobs(connection)
    while await queue.sweep_cancelled(connection, _BATCH, job_id):
        pass


async def hasten(app: App, job_id: int, *, by: str, task_ids: Sequence[int] | None = None) -> int:
    """What waits for its next try may start now; all of it, or these tasks. Returns how many.

    What runs now is called again at once if it snoozes: it may have looked before the reason for this was there."""
    async with app.connection() as connection:
        running = await queue.leased_in_job(connection, job_id) if task_ids is None else task_ids
        for start in range(0, len(running), _BATCH):
            await queue.note_hasten(connection, running[start : start + _BATCH])
    total = 0
    while True:
        async with app.connection() as connection:
            hastened = await queue.hasten(connection, job_id, task_ids, _BATCH)
        total += hastened
        if hastened < _BATCH:
            break
    if total:
        await app.wake_all()
        app.events.emit("jobs.steered", job=job_id, move="hasten", by=by, count=total)
    return total


async def _decide(
    app: App, job_id: int, move: str, change: Callable[[Any], Awaitable[int]], *, by: str, **more: Any
) -> None:
    """The statement itself is the guard; the state is read only to say why it refused."""
    async with app.connection() as connection:
        if not await change(connection):
            state, _ = await job_counts.read(connection, job_id)
            lifecycle.require_of_job(move, state, f"job {job_id}")
            raise UsageError(f"Job {job_id} changed while you wanted to {move} it. Look at it and try again.")
    app.events.emit("jobs.steered", job=job_id, move=move, by=by, **more)


async def _move(connection: Any, job_id: int, priority: int) -> int:
    """Its lanes to another priority. An enqueue may open the very lane they move to, or hold one: then look again."""
    for _ in range(_TRIES - 1):
        with suppress(asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError):
            return await lanes.reprioritise_job(connection, job_id, priority)
    return await lanes.reprioritise_job(connection, job_id, priority)


async def _pipeline(connection: Any, job_id: int) -> str:
    job = await jobs.get(connection, job_id)
    if job is None:
        raise JobNotFound(job_id)
    pipeline: str = job["pipeline"]
    return pipeline
