"""A worker inside an existing process: a web server's lifespan, a script, a test.

The storage guarantees are the same. The heartbeat has a thread and a connection of its own, so a busy event loop does
not end the leases. One thing needs the supervisor of `penstock worker`: killing a handler that does not let go.
"""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

from penstock.brokers.relay import run_relays
from penstock.config import Settings
from penstock.core.app import App
from penstock.core.stage import served_stages
from penstock.failpoints import Failpoints
from penstock.fleet.heartbeat import Heart
from penstock.observe.changes import Changes
from penstock.storage import workers
from penstock.storage.database import DATABASE_FAULTS, Link
from penstock.storage.workers import Heartbeat
from penstock.upkeep.duties import all_duties
from penstock.upkeep.duty import Upkeep
from penstock.workers.runner import Runner
from penstock.workers.slots import Slots


class InProcessWorker:
    """``start`` and ``stop``, or use it with ``async with``. Comes back under a new id if it was declared dead."""

    def __init__(
        self,
        app: App,
        *,
        only: Sequence[str] = (),
        upkeep: bool = True,
        job: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        """``job``: serve only its tasks. ``settings``: others than the application's."""
        self._app = app
        self._job = job
        self._given = settings
        self._only = tuple(only)
        self._with_upkeep = upkeep
        self._supervisor = uuid4()
        self._failpoints = Failpoints.from_environment()
        self.runner: Runner | None = None
        self._slots: Slots | None = None
        self._beating: _HeartThread | None = None
        # Upkeep, relays, and whoever tells outside listeners.
        self._beside: list[asyncio.Task[None]] = []
        self._changes = Changes(app.connection)
        self._restarting: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def _settings(self) -> Settings:
        return self._given or self._app.settings

    async def start(self) -> None:
        await self._app.open()
        self._app.events.add(self._changes.on_event)
        await self._start_runner()
        self._beside.append(asyncio.create_task(self._changes.run()))
        if self._with_upkeep:
            settings, url = self._settings, await self._app.database_url()
            events, failpoints = self._app.events, self._failpoints
            duties = all_duties(settings, events, failpoints)
            upkeep = Upkeep(settings=settings, url=url, duties=duties, events=events, failpoints=failpoints)
            self._beside.append(asyncio.create_task(upkeep.run()))
            self._beside.append(asyncio.create_task(run_relays(settings, url, events, failpoints)))

    async def stop(self, grace_seconds: float | None = None) -> None:
        """Finish or hand back within the grace, then say goodbye."""
        for side in (self._watching, self._restarting, *reversed(self._beside)):
            if side is not None:
                side.cancel()
                await asyncio.gather(side, return_exceptions=True)
        self._beside.clear()
        if self.runner is not None:
            await self.runner.stop(self._settings.grace_seconds if grace_seconds is None else grace_seconds)
            await self._end_heart()
            async with self._app.connection() as connection:
                await workers.stop(connection, [self.runner.worker])
            await self._changes.run_once()
        self._app.events.remove(self._changes.on_event)
        self._drop_slots()

    async def __aenter__(self) -> "InProcessWorker":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def _start_runner(self) -> None:
        settings, url = self._settings, await self._app.database_url()
        stages = served_stages(self._app.pipelines.values(), self._app.stage_ids, settings, self._only)
        self._changes.know({stage.id: stage.label for stage in stages})
        self._slots = Slots.create(max(sum(stage.pool for stage in stages), 1))
        sent_at = time.monotonic()
        async with self._app.connection() as connection:
            worker = await workers.register(
                connection,
                supervisor=self._supervisor,
                name=f"{socket.gethostname()}-{os.getpid()}",
                stages=[stage.id for stage in stages],
                lease_seconds=settings.lease_seconds,
            )
        runner = Runner(
            settings=settings,
            url=url,
            worker=worker,
            stages=stages,
            slots=self._slots,
            events=self._app.events,
            failpoints=self._failpoints,
            job=self._job,
        )
        link = Link(settings, url, purpose="heartbeat")
        heart = Heart(link=link, settings=settings, failpoints=self._failpoints)
        heart.registered(sent_at)
        self._slots.renewed(heart.safe_until)
        self._beating = _HeartThread(heart, runner, lapsed=self._lapsed, orphaned=self._orphaned)
        await runner.start()
        self._beating.start()
        self.runner = runner
        self._watching = asyncio.create_task(self._watch(runner))

    async def _watch(self, runner: Runner) -> None:
        """A loop of the runner that fails is a bug; its leases must not stay alive with nobody to serve them."""
        try:
            await runner.failed()
        except Exception as error:
            self._app.events.emit("worker.died", worker=runner.worker, cause=f"{type(error).__name__}: {error}")
            self._lapsed()

    def _lapsed(self) -> None:
        """The leases are gone or about to end: drop everything and come back as somebody new."""
        if self._restarting is None or self._restarting.done():
            self._restarting = asyncio.get_running_loop().create_task(self._restart())

    def _orphaned(self) -> None:
        """The event loop ended without a ``stop``. Called in the thread of the heartbeat, the last that is left."""
        self._app.events.remove(self._changes.on_event)
        self._drop_slots()

    async def _restart(self) -> None:
        assert self.runner is not None
        self._app.events.emit("worker.fenced", worker=self.runner.worker)
        if self._watching is not None:
            self._watching.cancel()
        await self.runner.abandon()
        await self._end_heart()
        self._drop_slots()
        while True:
            try:
                await self._start_runner()
                return
            except DATABASE_FAULTS:
                await asyncio.sleep(0.5)

    async def _end_heart(self) -> None:
        if self._beating is not None:
            beating, self._beating = self._beating, None
            await asyncio.to_thread(beating.end)

    def _drop_slots(self) -> None:
        if self._slots is not None:
            self._slots.close(remove=True)
            self._slots = None


class _HeartThread(threading.Thread):
    """Beats on a loop of its own, whatever the main loop does."""

    def __init__(
        self, heart: Heart, runner: Runner, *, lapsed: Callable[[], None], orphaned: Callable[[], None]
    ) -> None:
        super().__init__(name="penstock-heartbeat", daemon=True)
        self._main = asyncio.get_running_loop()
        self._heart = heart
        self._runner = runner
        self._lapsed = lapsed
        self._orphaned = orphaned
        self._ended = threading.Event()

    def end(self) -> None:
        self._ended.set()
        self.join(5)

    def run(self) -> None:
        asyncio.run(self._beat())

    async def _beat(self) -> None:
        pause = self._runner.settings.heartbeat_seconds
        while not await asyncio.to_thread(self._ended.wait, pause):
            pause = self._runner.settings.heartbeat_seconds
            if self._main.is_closed():  # without a stop: nobody serves what these leases hold
                self._orphaned()
                break
            try:
                async with asyncio.timeout(5):
                    if not await self._beat_once():
                        self._main.call_soon_threadsafe(self._lapsed)
                        break
            except DATABASE_FAULTS:
                pause = 0.25
            if time.monotonic() >= self._heart.safe_until:
                self._main.call_soon_threadsafe(self._lapsed)
                break
        await self._heart.close()

    async def _beat_once(self) -> bool:
        running = [one.lease for one in self._runner.slots.running()]
        beat = Heartbeat(worker=self._runner.worker, running=running, status=self._runner.status())
        answer = await self._heart.run_once([beat])
        for asked, told in ((answer.stop, self._runner.cancel), (answer.wait, self._runner.handing_back.withdrawn)):
            if asked:
                self._main.call_soon_threadsafe(told, {task_id: lease for task_id, lease, _ in asked})
        if self._runner.worker not in answer.alive:
            return False
        self._runner.slots.renewed(self._heart.safe_until)
        return True


def worker(app: App, *, only: Sequence[str] = ()) -> InProcessWorker:
    """``async with worker(app): …`` — for a FastAPI lifespan or a script."""
    return InProcessWorker(app, only=only)
