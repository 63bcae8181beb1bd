"""Watches over runner processes. Never runs user code, so nothing of the user's can stop its heartbeat.

It heartbeats for its runners, kills one that holds a task past its deadline, restarts dead ones, says which tasks were
running when one died, and does the upkeep duties that come its way.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from penstock.brokers.relay import Relay
from penstock.config import Settings
from penstock.errors import UsageError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.heartbeat import Heart
from penstock.fleet.nursery import Nursery
from penstock.fleet.process import SETUP_EXIT, Blueprint
from penstock.fleet.runner_process import RunnerProcess, give_back
from penstock.storage import workers
from penstock.storage.database import DATABASE_FAULTS, Link
from penstock.storage.workers import Heartbeat
from penstock.upkeep.duty import Duty, Upkeep

_WATCH_SECONDS = 0.1
_AGAIN_SECONDS = 0.25
_PATIENCE_SECONDS = 2.0
_LONGEST_BACKOFF_SECONDS = 10.0


class Supervisor:
    def __init__(
        self,
        *,
        settings: Settings,
        blueprint: Blueprint,
        events: Events,
        failpoints: Failpoints,
        duties: Sequence[Duty],
        counted: Callable[[list[list[Any]]], None] = lambda metrics: None,
        database_gone: Callable[[], None] = lambda: None,
    ) -> None:
        """``database_gone`` is called while the database does not answer; the embedded server is restarted there."""
        self._settings = settings
        self._blueprint = blueprint
        self._events = events
        self._counted = counted
        self._database_gone = database_gone
        self._id = uuid4()
        # One link per loop: a burial that waits for the database must not hold up a heartbeat.
        self._heart = Heart(
            link=Link(settings, blueprint.url, purpose="heartbeat"), settings=settings, failpoints=failpoints
        )
        self._watch_link = Link(settings, blueprint.url, purpose="supervisor")
        self._upkeep = Upkeep(settings=settings, url=blueprint.url, duties=duties, events=events, failpoints=failpoints)
        self._relays = [
            Relay(name, settings=settings, url=blueprint.url, events=events, failpoints=failpoints).run
            for name in sorted(settings.brokers)
        ]
        self.runners: list[RunnerProcess] = []
        self._stopping = asyncio.Event()
        self._dead: list[RunnerProcess] = []
        self._nursery = Nursery()
        self._false_starts = 0
        self._start_after = 0.0
        self._watch_after = 0.0
        self._readers: set[asyncio.Task[None]] = set()

    # ---------------------------------------------------------------- life

    def stop(self) -> None:
        """Begin to stop; ``run`` returns when the runners have."""
        self._stopping.set()

    @property
    def ready(self) -> bool:
        return bool(self.runners) and all(runner.ready.is_set() for runner in self.runners)

    async def run(self) -> None:
        loops = [
            asyncio.create_task(loop)
            for loop in (self._beat(), self._watch(), self._upkeep.run(), *(run() for run in self._relays))
        ]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({stopping, *loops}, return_when=asyncio.FIRST_COMPLETED)
            for loop in loops:
                if loop.done():
                    loop.result()
            loops[1].cancel()
            await self._stop_runners()
        finally:
            stopping.cancel()
            for loop in loops:
                loop.cancel()
            await asyncio.gather(stopping, *loops, return_exceptions=True)
            for runner in (*self.runners, *self._dead):
                runner.kill("the supervisor ends")
                runner.close()
            for reader in self._readers:
                reader.cancel()
            self._nursery.close()
            await self._heart.close()
            await self._watch_link.close()

    async def _stop_runners(self) -> None:
        """SIGTERM: runners finish or hand back within the grace; one that does not is killed and its tasks are
        handed back for it."""
        grace = self._settings.grace_seconds
        for runner in self.runners:
            runner.channel.send(stop=max(grace - 0.5, 0.0))
        deadline = time.monotonic() + grace + 0.5
        while any(runner.exit_code is None for runner in self.runners) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for runner in self.runners:
            runner.kill("it did not stop within the grace")
        gone = [*self.runners, *self._dead]
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._watch_link.guarded() as connection:
                for runner in gone:
                    await give_back(
                        connection,
                        runner,
                        settings=self._settings,
                        events=self._events,
                        stopping=runner in self.runners,
                    )
                await workers.stop(connection, [runner.worker for runner in gone])
        except DATABASE_FAULTS as error:
            self._events.emit("worker.silent", error=str(error), next_step="rescue gives the tasks back")

    # ---------------------------------------------------------------- heartbeats

    async def _beat(self) -> None:
        while True:
            pause = self._settings.heartbeat_seconds
            try:
                async with asyncio.timeout(min(self._settings.lease_seconds / 3, 5.0)):
                    await self.beat_once()
            except DATABASE_FAULTS as error:
                self._heart.drop()
                self._events.emit("worker.silent", error=str(error) or type(error).__name__)
                await asyncio.to_thread(self._database_gone)
                pause = _AGAIN_SECONDS
            self._stop_before_lease_ends()
            await asyncio.sleep(min(pause, max(self._heart.safe_until - time.monotonic(), 0.1)))

    async def beat_once(self) -> int:
        """One heartbeat for all runners; returns how many there are."""
        living = [runner for runner in self.runners if runner.exit_code is None]
        if living:
            answer = await self._heart.run_once([self._told(runner) for runner in living])
            for runner in living:
                if runner.exit_code is not None:
                    continue  # it died while we waited for the answer, and may be buried by now
                if runner.worker not in answer.alive:
                    self._events.emit("worker.fenced", worker=runner.worker)
                    runner.kill("it was declared dead")
                else:
                    runner.slots.renewed(self._heart.safe_until)
                stop = [[task, lease] for task, lease, worker in answer.stop if worker == runner.worker]
                wait = [[task, lease] for task, lease, worker in answer.wait if worker == runner.worker]
                if stop or wait:
                    runner.channel.send(cancel=stop, wait=wait)
        return len(living)

    def _told(self, runner: RunnerProcess) -> Heartbeat:
        running = [one.lease for one in runner.slots.running()]
        return Heartbeat(worker=runner.worker, running=running, status=runner.status)

    def _stop_before_lease_ends(self) -> None:
        """Without an answer nobody knows whether the leases still hold: end the runners while they do."""
        if time.monotonic() >= self._heart.safe_until:
            for runner in self.runners:
                runner.kill("the database did not answer before the lease ended")

    # ---------------------------------------------------------------- starting and burying runners

    async def _watch(self) -> None:
        while True:
            await self.watch_once()
            await asyncio.sleep(_WATCH_SECONDS)

    async def watch_once(self) -> int:
        """Enforce deadlines, bury the dead, start who is missing. Returns how many runners were started."""
        for runner in list(self.runners):
            if runner.exit_code is None:
                self._enforce_deadlines(runner)
            else:
                self._mourn(runner)
        self._nursery.end_if_stuck()
        missing = len(self.runners) < self._settings.runners and time.monotonic() >= self._start_after
        if not (self._dead or missing) or time.monotonic() < self._watch_after:
            return 0
        started = 0
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                for runner in list(self._dead):
                    await self._bury(runner)
            # Bounded too: while we wait here, nobody looks at deadlines.
            async with asyncio.timeout(_PATIENCE_SECONDS):
                if missing:
                    await self._nursery.ready()
                while missing and len(self.runners) < self._settings.runners:
                    await self._bring_up()
                    started += 1
        except DATABASE_FAULTS as error:
            self._watch_after = time.monotonic() + _AGAIN_SECONDS
            if isinstance(error, ChildProcessError):
                self._events.emit("worker.unborn", error=str(error))
                return started
            self._watch_link.drop()
            await asyncio.to_thread(self._database_gone)
        return started

    def _enforce_deadlines(self, runner: RunnerProcess) -> None:
        overdue = runner.overdue_now(self._settings.kill_grace_seconds)
        if overdue and runner.killed_for is None:
            runner.overdue = overdue
            tasks = ", ".join(str(one.task_id) for one in overdue)
            runner.kill(f"task {tasks} went on past its deadline and the grace")

    def _mourn(self, runner: RunnerProcess) -> None:
        """Note a death. One before it was ready delays the next start: it would only happen again. One that worked is
        replaced at once; what poison may do is bounded by its crashes."""
        if runner.exit_code == SETUP_EXIT and not runner.ready.is_set():
            raise UsageError("The runner could not start; its own message is above.")
        cause = runner.killed_for or runner.how_it_ended()
        self._events.emit("worker.died", worker=runner.worker, pid=runner.pid, cause=cause)
        self.runners.remove(runner)
        self._dead.append(runner)
        self._false_starts = 0 if runner.ready.is_set() else self._false_starts + 1
        backoff = min(0.1 * 2**self._false_starts, _LONGEST_BACKOFF_SECONDS) if self._false_starts else 0.0
        self._start_after = time.monotonic() + backoff

    async def _bury(self, runner: RunnerProcess) -> None:
        """Give back what a dead runner held. Tried until the database answers: nobody else knows what was running.

        Declared dead only afterwards, or rescue could come first and would have to guess."""
        async with self._watch_link.guarded() as connection:
            await give_back(connection, runner, settings=self._settings, events=self._events, stopping=False)
            await workers.declare_dead_by_supervisor(connection, runner.worker)
        self._dead.remove(runner)
        runner.close()

    async def _bring_up(self) -> None:
        sent_at = time.monotonic()
        async with self._watch_link.guarded() as connection:
            worker = await workers.register(
                connection,
                supervisor=self._id,
                name=f"{socket.gethostname()}-{os.getpid()}-{len(self.runners) + 1}",
                stages=[],
                lease_seconds=self._settings.lease_seconds,
            )
        if not self.runners:
            self._heart.registered(sent_at)
        runner = await RunnerProcess.start(worker, self._blueprint, self._nursery)
        runner.slots.renewed(self._heart.safe_until)
        self.runners.append(runner)
        reader = asyncio.create_task(self._read(runner))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)

    async def _read(self, runner: RunnerProcess) -> None:
        async for message in runner.channel.messages():
            if message.get("ready"):
                runner.stages = message["stages"]
                runner.ready.set()
            if "status" in message:
                runner.status, runner.told_at = message["status"], time.monotonic()
            self._counted(message.get("metrics", []))
