"""Runs what was enqueued in the process of the test, one task after the other, on a real database.

No worker, no polling, no processes: claim, run, settle, until nothing is due. The decisions are the engine's own, so
a retry is a retry and a dead letter a dead letter.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from penstock.application import Penstock
from penstock.core.claim import Claimer
from penstock.core.context import Context
from penstock.core.define import StageDefinition
from penstock.core.run import DeadlinePassed, RunningStage, decide_error, run
from penstock.core.settle import Settler
from penstock.core.stage import Stage, served_stages
from penstock.errors import UsageError
from penstock.failpoints import Failpoints
from penstock.lifecycle import State
from penstock.model import Claimed, Finish, Settlement
from penstock.storage import checkpoints, workers
from penstock.storage.database import Link
from penstock.testing import statements as table
from penstock.upkeep.duties import sweep_cancelled
from penstock.upkeep.firing import FanIn
from penstock.workers.facilities import Facilities

_BATCH = 50
# The test process may be stopped in a debugger: nobody should take its tasks meanwhile.
_LEASE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What happened. ``runs`` counts handler calls; ``waiting`` what is left, due later or paused."""

    runs: int
    ended: dict[State, int] = field(default_factory=dict)
    released: int = 0
    waiting: int = 0

    @property
    def done(self) -> int:
        return self.ended.get(State.DONE, 0)

    @property
    def failed(self) -> int:
        return self.ended.get(State.ERROR, 0)


async def drain(app: Penstock, *, advance: bool = False, only: Sequence[str] = (), most_runs: int = 10_000) -> Drained:
    """Run every due task to its end, also those that handlers and the callbacks of ended jobs enqueue meanwhile.

    ``advance``: do not wait for delays. Whenever nothing is due, the earliest waiting tasks become due, so retries and
    tasks for tomorrow run now, in the order they would. ``most_runs`` ends a task that snoozes for ever.
    """
    await app.open()
    async with _drainer(app, only) as drainer:
        while True:
            ran = await drainer.run_due(most_runs)
            if await drainer.call_back():
                continue
            # What became due by itself meanwhile was not there to be moved forward: look once more.
            if not advance or not (await drainer.fast_forward() or ran):
                return await drainer.drained()


@asynccontextmanager
async def inline(app: Penstock, *, advance: bool = True) -> AsyncIterator[None]:
    """Inside the block, ``enqueue`` returns when the task has ended: stored, claimed, run and settled at once.

    Also what its handler enqueues. Tasks of ``enqueue_on`` run at the next enqueue or ``drain``: their transaction
    belongs to the caller.
    """
    await app.open()
    store, store_many = app.store, app.store_many

    async def stored(*args: Any, **kwargs: Any) -> Any:
        task = await store(*args, **kwargs)
        if len(args) < _WITH_CONNECTION and kwargs.get("connection") is None:
            await drain(app, advance=advance)
        return task

    async def stored_many(*args: Any, **kwargs: Any) -> Any:
        job = await store_many(*args, **kwargs)
        if kwargs.get("connection") is None:
            await drain(app, advance=advance)
        return job

    replaced = {"store": stored, "store_many": stored_many}
    vars(app).update(replaced)
    try:
        yield
    finally:
        for name in replaced:
            vars(app).pop(name, None)


_WITH_CONNECTION = 4  # app.store(pipeline, values, options, connection)


class _HereAndNow(Facilities):
    """Isolated handlers run in a thread: their function may live in a test module that no other process can import."""

    def in_process(self, definition: StageDefinition, context: Context, values: dict[str, Any]) -> Awaitable[Any]:
        args = (context,) if definition.arguments.takes_context else ()
        return self.in_thread(definition.function, args, values)


@asynccontextmanager
async def _drainer(app: Penstock, only: Sequence[str]) -> AsyncIterator["_Drainer"]:
    # Nobody else will run what does not fit the handler: it fails at once.
    settings = app.settings.model_copy(update={"version_skew_days": 0.0})
    stages = {stage.id: stage for stage in served_stages(app.pipelines.values(), app.stage_ids, settings, only)}
    url = await app.database_url()
    async with app.connection() as connection:
        worker = await workers.register(
            connection, supervisor=uuid4(), name="drain", stages=list(stages), lease_seconds=_LEASE_SECONDS
        )
    facilities = _HereAndNow(
        settings=app.settings,
        url=url,
        worker=worker,
        stages=stages,
        events=app.events,
        failpoints=Failpoints(),
        app_reference=None,
    )
    link = Link(app.settings, url, purpose="drain")
    drainer = _Drainer(app, stages, facilities, link, worker)
    await facilities.open()
    try:
        yield drainer
    finally:
        await drainer.hand_back()
        await facilities.close()
        await link.close()


class _Drainer:
    def __init__(
        self, app: Penstock, stages: dict[int, Stage], facilities: Facilities, link: Link, worker: int
    ) -> None:
        self._app = app
        self._stages = stages
        self._running = {stage_id: RunningStage(stage, facilities) for stage_id, stage in stages.items()}
        self._facilities = facilities
        self._link = link
        self._worker = worker
        self._settler = Settler(
            link=link,
            worker=worker,
            settings=app.settings,
            events=app.events,
            failpoints=Failpoints(),
        )
        self._fan_in = FanIn(events=app.events, failpoints=Failpoints())
        self._runs = 0
        self._released = 0
        self._ended: Counter[State] = Counter()

    async def run_due(self, most_runs: int) -> bool:
        """Until nothing is due; whether anything was."""
        before = self._runs
        while claimed := await self._claim():
            for one in claimed:
                if self._runs >= most_runs:
                    raise UsageError(
                        f"drain() has run {most_runs:,} tasks and more are due. A task may snooze or enqueue itself for"
                        " ever; raise most_runs if there really are so many."
                    )
                await self._run(one)
        return self._runs > before

    async def call_back(self) -> int:
        """What upkeep does for jobs that ended or were cancelled; returns how many callbacks were enqueued."""
        async with self._link.guarded() as connection:
            await sweep_cancelled(connection, events=self._app.events)
            return (await self._fan_in.run_once(connection))["called"]

    async def fast_forward(self) -> int:
        async with self._link.guarded() as connection:
            return await table.fast_forward(connection, list(self._stages))

    async def drained(self) -> Drained:
        async with self._link.guarded() as connection:
            depth = await table.depth(connection)
        waiting = sum(count for stage, (count, _) in depth.items() if stage in self._stages)
        return Drained(runs=self._runs, ended=dict(self._ended), released=self._released, waiting=waiting)

    async def hand_back(self) -> None:
        """What was claimed and not run, because something raised; then the worker is gone."""
        async with self._link.guarded() as connection:
            await table.release_all(connection, self._worker)
            await workers.stop(connection, [self._worker])

    async def _claim(self) -> list[Claimed]:
        """With a new claimer each time: it looks at the front of every lane and remembers nothing."""
        pipelines = {stage_id: stage.definition.pipeline for stage_id, stage in self._stages.items()}
        claimer = Claimer(link=self._link, worker=self._worker, failpoints=Failpoints(), pipelines=pipelines)
        claimed = await claimer.claim(dict.fromkeys(self._stages, _BATCH))
        later = [one for one in claimed if not self._stages[one.stage].first]
        if later:
            async with self._link.guarded() as connection:
                origins = [self._stages[one.stage].origin for one in later]
                await checkpoints.earlier(connection, later, origins, most_bytes=checkpoints.ANY_SIZE)
        claimed.sort(key=lambda one: (claimer.turns.priorities.get(one.lane, 0), one.run_at, one.task_id))
        return claimed

    async def _run(self, claimed: Claimed) -> None:
        stage = self._stages[claimed.stage]
        context = Context(claimed, self._facilities) if stage.needs_context else None
        self._runs += 1
        settlement: Settlement | None
        try:
            async with asyncio.timeout(stage.timeout_seconds):
                settlement = await run(claimed, self._running[stage.id], context)
        except TimeoutError:
            settlement = decide_error(claimed, stage, DeadlinePassed(stage.timeout_seconds))
        if settlement is None:
            self._ended[State.DONE] += 1
            return
        if isinstance(settlement, Finish):
            self._ended[State(settlement.status)] += 1
        else:
            self._released += 1
        self._settler.add(settlement)
        await self._settler.run_once()
