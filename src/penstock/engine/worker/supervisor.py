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

from penstock import version
from penstock.config import Settings
from penstock.engine.events import Events
from penstock.engine.payload import encode
from penstock.engine.upkeep.duty import Duty, Upkeep
from penstock.engine.worker.heartbeat import Heart
from penstock.engine.worker.runner_process import Blueprint, RunnerProcess
from penstock.errors import DatabaseError, UsageError
from penstock.failpoints import Failpoints
from penstock.model import Release
from penstock.storage import queue, workers
from penstock.storage.database import Link, passing
from penstock.storage.workers import Heartbeat

_WATCH_SECONDS = 0.1
_SETUP_EXIT = 78  # the runner could not even start: a wrong reference, a missing schema
_FAST_DEATH_SECONDS = 5.0


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
        self._link = Link(settings, blueprint.url, purpose="heartbeat")
        self._heart = Heart(link=self._link, settings=settings, failpoints=failpoints)
        self._upkeep = Upkeep(
            link=Link(settings, blueprint.url, purpose="upkeep"),
            duties=duties,
            worker=None,
            events=events,
            failpoints=failpoints,
        )
        self.runners: list[RunnerProcess] = []
        self._stopping = asyncio.Event()
        self._fast_deaths = 0
        self._readers: set[asyncio.Task[None]] = set()

    # ---------------------------------------------------------------- life

    def stop(self) -> None:
        """Begin to stop; ``run`` returns when the runners have."""
        self._stopping.set()

    @property
    def ready(self) -> bool:
        return bool(self.runners) and all(runner.ready.is_set() for runner in self.runners)

    async def run(self) -> None:
        loops = [asyncio.create_task(loop) for loop in (self._beat(), self._watch(), self._upkeep.run())]
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
            for runner in self.runners:
                runner.kill("the supervisor ends")
                runner.close()
            for reader in self._readers:
                reader.cancel()
            await self._link.close()

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
        gone = [runner.worker for runner in self.runners]
        try:
            async with asyncio.timeout(2), self._link.guarded() as connection:
                for runner in self.runners:
                    await self._give_back(connection, runner, stopping=True)
                await workers.stop(connection, gone)
        except (DatabaseError, TimeoutError, OSError) as error:
            self._events.emit("worker.silent", error=str(error), next_step="rescue gives the tasks back")

    # ---------------------------------------------------------------- heartbeats

    async def _beat(self) -> None:
        while True:
            pause = self._settings.heartbeat_seconds
            try:
                async with asyncio.timeout(min(self._settings.lease_seconds / 3, 5.0)):
                    await self.beat_once()
            except Exception as error:
                if not (passing(error) or isinstance(error, DatabaseError)):
                    raise
                self._link.drop()
                self._events.emit("worker.silent", error=str(error) or type(error).__name__)
                await asyncio.to_thread(self._database_gone)
                pause = 0.25
            self._stop_before_lease_ends()
            await asyncio.sleep(min(pause, max(self._heart.safe_until - time.monotonic(), 0.1)))

    async def beat_once(self) -> int:
        """One heartbeat for all runners, then as many runners as there should be. Returns how many are alive."""
        living = [runner for runner in self.runners if runner.exit_code is None]
        if living:
            answer = await self._heart.run_once([self._told(runner) for runner in living])
            for runner in living:
                if runner.worker not in answer.alive:
                    self._events.emit("worker.fenced", worker=runner.worker)
                    runner.kill("it was declared dead")
                stop = [[task, lease] for task, lease, worker in answer.stop if worker == runner.worker]
                if stop:
                    runner.channel.send(cancel=stop)
        if not self._stopping.is_set():
            await self._bring_up()
        return len(living)

    def _told(self, runner: RunnerProcess) -> Heartbeat:
        running = [one.task_id for one in runner.slots.running()]
        return Heartbeat(worker=runner.worker, running=running, status=runner.status)

    def _stop_before_lease_ends(self) -> None:
        """Without an answer nobody knows whether the leases still hold: end the runners while they do."""
        if time.monotonic() >= self._heart.safe_until:
            for runner in self.runners:
                runner.kill("the database did not answer before the lease ended")

    # ---------------------------------------------------------------- starting and burying runners

    async def _bring_up(self) -> None:
        while len(self.runners) < self._settings.runners:
            await asyncio.sleep(min(0.1 * 2**self._fast_deaths, 10.0) if self._fast_deaths else 0)
            sent_at = time.monotonic()
            async with self._link.guarded() as connection:
                worker = await workers.register(
                    connection,
                    supervisor=self._id,
                    name=f"{socket.gethostname()}-{os.getpid()}-{len(self.runners) + 1}",
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    version=version.VERSION,
                    stages=[],
                    lease_seconds=self._settings.lease_seconds,
                )
            if not self.runners:
                self._heart.registered(sent_at)
            runner = await RunnerProcess.start(worker, self._blueprint)
            self.runners.append(runner)
            reader = asyncio.create_task(self._read(runner))
            self._readers.add(reader)
            reader.add_done_callback(self._readers.discard)

    async def _read(self, runner: RunnerProcess) -> None:
        async for message in runner.channel.messages():
            if message.get("ready"):
                runner.stages = message["stages"]
                runner.ready.set()
            runner.status = message.get("status", runner.status)
            self._counted(message.get("metrics", []))

    async def _watch(self) -> None:
        while True:
            for runner in list(self.runners):
                if runner.exit_code is None:
                    self._enforce_deadlines(runner)
                else:
                    await self._bury(runner)
            await asyncio.sleep(_WATCH_SECONDS)

    def _enforce_deadlines(self, runner: RunnerProcess) -> None:
        overdue = runner.overdue_now(self._settings.kill_grace_seconds)
        if overdue and runner.killed_for is None:
            runner.overdue = overdue
            tasks = ", ".join(str(one.task_id) for one in overdue)
            runner.kill(f"task {tasks} went on past its deadline and the grace")

    async def _bury(self, runner: RunnerProcess) -> None:
        """Give back what a dead runner held. Where the database does not answer, rescue will."""
        cause = runner.killed_for or runner.how_it_ended()
        self._events.emit("worker.died", worker=runner.worker, pid=runner.pid, cause=cause)
        if runner.exit_code == _SETUP_EXIT and not runner.ready.is_set():
            raise UsageError("The runner could not start; its own message is above.")
        lived = time.monotonic() - runner.started
        self._fast_deaths = self._fast_deaths + 1 if lived < _FAST_DEATH_SECONDS else 0
        self.runners.remove(runner)
        try:
            async with asyncio.timeout(2), self._link.guarded() as connection:
                await workers.declare_dead_by_supervisor(connection, runner.worker)
                await self._give_back(connection, runner, stopping=False)
                await self._bring_up()
        except Exception as error:
            if not (passing(error) or isinstance(error, DatabaseError)):
                raise
            self._link.drop()
        finally:
            runner.close()

    async def _give_back(self, connection: Any, runner: RunnerProcess, *, stopping: bool) -> None:
        running = {(one.task_id, one.lease) for one in runner.slots.running()}
        overdue = {(one.task_id, one.lease) for one in runner.overdue}
        while leases := await queue.leases_of(connection, runner.worker):
            releases = [
                self._release(runner, task_id, lease, (task_id, lease) in running, overdue, stopping)
                for task_id, lease, _ in leases
            ]
            released = await queue.release(
                connection,
                runner.worker,
                releases,
                crash_limit=self._settings.crash_limit,
                rescue_limit=self._settings.rescue_limit,
            )
            crashed = [one.task_id for one in releases if one.crashed]
            if crashed:
                self._events.emit("tasks.crashed", worker=runner.worker, count=len(crashed), tasks=crashed)
            if not released:
                return

    def _release(
        self,
        runner: RunnerProcess,
        task_id: int,
        lease: int,
        ran: bool,
        overdue: set[tuple[int, int]],
        stopping: bool,
    ) -> Release:
        """What waited in the inbox comes back as it was. What ran burns an attempt, unless it only had the bad luck to
        run beside a task that was killed, or the worker was stopped."""
        guilty = ran and not stopping and (not overdue or (task_id, lease) in overdue)
        guilty = guilty and (runner.killed_for is None or bool(overdue))
        cause = None if not ran else ("timeout" if overdue else "crash") if guilty else "hand back"
        why = runner.killed_for or f"the process died: {runner.how_it_ended()}"
        error = encode(
            {
                "class": "timeout" if overdue else "crash",
                "type": "ProcessKilled" if overdue else "ProcessDied",
                "message": why,
            },
            what="error",
            limit_bytes=8192,
        )
        return Release(
            task_id=task_id,
            lease=lease,
            stage=0,
            cause=cause,
            burned=guilty,
            crashed=guilty,
            error=error if cause else None,
        )
