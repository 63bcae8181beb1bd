"""One slice of a job, worked on inside a request: a worker that comes, serves this job only, and goes.

It claims and settles as every other worker does, so any number of slices may run at once and beside background workers.
When the time is up, running handlers get a short grace; what has not ended goes back and burns no attempt.
"""

import asyncio
import time
from dataclasses import dataclass

from penstock.adaptation.claims import Decision
from penstock.core import job_counts
from penstock.core.app import App
from penstock.core.job_counts import JobCounts
from penstock.core.registering import register_pipeline
from penstock.errors import LimitReached
from penstock.lifecycle import JobState
from penstock.storage import items
from penstock.workers.inprocess import InProcessWorker

_GRACE_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_TIMES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReport:
    """``processed``: how many items ended during the slice, whoever ended them. ``ended_because``: why it stopped."""

    processed: int
    took_seconds: float
    ended_because: str
    lock_seconds: float
    lock_reason: str
    state: JobState
    counts: JobCounts

    @property
    def more(self) -> bool:
        """Whether another slice would find work, now or later."""
        return bool(self.counts.pending or self.counts.processing)


def lock_expiry(*, ewma_ms: float | None, floor_ms: float, cap_ms: float) -> Decision[float]:
    """How long a lock may be held before others may take it for abandoned: twice what an item usually takes, so quick
    items are taken over quickly from somebody who vanished, slow ones are not taken from somebody who is only slow.

    ``clamp(2 × ewma, floor, cap)``; without a measurement the cap, because taking over too early does work twice."""
    if ewma_ms is None:
        return Decision(value=float(cap_ms), reason="no item measured yet: the longest")
    wanted = _TIMES * ewma_ms
    if wanted <= floor_ms:
        return Decision(value=float(floor_ms), reason=f"an item takes {ewma_ms:.1f} ms: the shortest")
    if wanted >= cap_ms:
        return Decision(value=float(cap_ms), reason=f"an item takes {ewma_ms:.0f} ms: the longest")
    return Decision(value=wanted, reason=f"twice the {ewma_ms:.0f} ms that an item takes")


class Slices:
    """The slices of one process. Remembers how long items take, for the locks of the next ones."""

    def __init__(self, app: App, *, at_once: int = 8) -> None:
        self._app = app
        self._at_once = at_once
        self._ewma_ms: dict[str, float] = {}
        self.running = 0

    async def run(self, job_id: int, pipeline: str, *, seconds: float) -> SliceReport:
        """Raises :class:`LimitReached` where enough of them run already."""
        if self.running >= self._at_once:
            raise LimitReached(owner="This process", what="slices", have=self.running, most=self._at_once)
        self.running += 1
        try:
            return await self._run(job_id, pipeline, seconds)
        finally:
            self.running -= 1

    async def _run(self, job_id: int, pipeline: str, seconds: float) -> SliceReport:
        started = time.monotonic()
        async with self._app.connection() as connection:
            if not self._app.registers:
                registered = await register_pipeline(self._app, connection, self._app.pipelines[pipeline])
                self._app.stage_ids |= registered
            _, before = await job_counts.read(connection, job_id)
        settings = self._app.settings
        lock = self._lock(pipeline)
        # A lease that is shorter than two heartbeats would end by itself.
        lease_seconds = max(lock.value / 1000, 2 * settings.heartbeat_seconds)
        worker = InProcessWorker(
            self._app,
            only=[pipeline],
            upkeep=False,
            job=job_id,
            # Somebody waits for the answer: the gentle profile would look once a minute.
            settings=settings.model_copy(update={"lease_seconds": lease_seconds, "profile": "event"}),
        )
        try:
            await worker.start()
            because = await self._until_done(job_id, worker, started + seconds)
        finally:
            self._learn(pipeline, worker)
            await worker.stop(_GRACE_SECONDS)
        async with self._app.connection() as connection:
            state, after = await job_counts.read(connection, job_id)
        return SliceReport(
            processed=max(0, after.finished - before.finished),
            took_seconds=time.monotonic() - started,
            ended_because=because,
            lock_seconds=lease_seconds,
            lock_reason=lock.reason,
            state=state,
            counts=after,
        )

    def _lock(self, pipeline: str) -> Decision[float]:
        settings = self._app.settings
        ewma_ms = self._ewma_ms.get(pipeline)
        if ewma_ms is None:
            return Decision(value=settings.lease_seconds * 1000, reason="no item measured yet: as every worker's")
        return lock_expiry(ewma_ms=ewma_ms, floor_ms=settings.lock_floor_ms, cap_ms=settings.lock_cap_ms)

    async def _until_done(self, job_id: int, worker: InProcessWorker, end: float) -> str:
        while time.monotonic() < end:
            async with self._app.connection() as connection:
                due = await items.due_in_job(connection, job_id)
            if not due and (worker.runner is None or not worker.runner.status()["held"]):
                return "nothing of the job is due"
            await asyncio.sleep(min(_LOOK_SECONDS, max(0.0, end - time.monotonic())))
        return "the time is up"

    def _learn(self, pipeline: str, worker: InProcessWorker) -> None:
        if worker.runner is None:
            return
        measured = [stage["ewma_ms"] for stage in worker.runner.status()["stages"].values()]
        if known := [ewma_ms for ewma_ms in measured if ewma_ms is not None]:
            self._ewma_ms[pipeline] = max(known)
