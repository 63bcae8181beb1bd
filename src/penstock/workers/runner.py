"""One runner: puts the parts together, starts and stops them. Knows nothing of processes or heartbeats.

Its parts know the runner, and meet in three moments: when tasks were claimed, when a run has ended, and when its end is
stored.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from penstock.brokers.by_message import ByMessage, broker_of
from penstock.config import Settings
from penstock.core.run import DeadlinePassed, HandBack, RunningStage, StopAsked
from penstock.core.settle import Settler, tell_failed
from penstock.core.stage import Stage
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.model import Claimed, Finish, Release, Settlement
from penstock.storage import changes
from penstock.storage.database import Link
from penstock.workers.beat import Beat
from penstock.workers.coordinator import Coordinator, throttles
from penstock.workers.discovery import Discovery
from penstock.workers.facilities import Facilities
from penstock.workers.handing_back import HandingBack
from penstock.workers.health import Health, shown
from penstock.workers.inbox import Held, Inbox
from penstock.workers.listener import Listener
from penstock.workers.measuring import Measuring, Pace
from penstock.workers.pool import Pool, Processor
from penstock.workers.slots import Slots

_DEADLINE_TICK_SECONDS = 0.1
_GOODBYE_SECONDS = 2.0


class Runner:
    """Serves ``stages`` (in this order) for the worker id it was given."""

    def __init__(
        self,
        *,
        settings: Settings,
        url: str,
        worker: int,
        stages: Sequence[Stage],
        slots: Slots,
        events: Events,
        failpoints: Failpoints,
        app_reference: str | None = None,
        extensions: Sequence[str] = (),
        job: int | None = None,
        lapsed: Callable[[], None] = lambda: None,
    ) -> None:
        """``job``: serve only its tasks. ``lapsed`` is called when the leases do not certainly hold any more; from then
        on nothing starts."""
        self.settings = settings
        self.worker = worker
        self.events = events
        self.failpoints = failpoints
        self._lapsed = lapsed
        self.stages = {stage.id: stage for stage in stages}
        self.slots = slots
        self.held = Held()
        self.inboxes = {stage: Inbox(held=self.held, size=settings.inbox_size) for stage in self.stages}
        self.measured = {stage: Pace() for stage in self.stages}
        self.facilities = Facilities(
            settings=settings,
            url=url,
            worker=worker,
            stages=self.stages,
            events=events,
            failpoints=failpoints,
            app_reference=app_reference,
            extensions=extensions,
        )
        first_slots = accumulate((stage.pool for stage in stages), initial=0)
        self.pools = {
            stage.id: Pool(
                running=RunningStage(stage, self.facilities), first_slot=slot, slots=slots, failpoints=failpoints
            )
            for stage, slot in zip(stages, first_slots, strict=False)
        }
        self._throttles = throttles(settings, stages)
        self.coordinator = Coordinator(
            pools=self.pools, inboxes=self.inboxes, per_cycle=self._throttles, rescue_limit=settings.rescue_limit
        )
        # What was claimed starts at once, and not with the next cycle of the coordinator.
        self._at_once = settings.profile == "event"
        self.claim_link = Link(settings, url, purpose="claim")
        settle_link = Link(settings, url, purpose="settle", lock_timeout_ms=500)
        self.settler = Settler(link=settle_link, worker=worker, settings=settings, events=events, failpoints=failpoints)
        self.messages: ByMessage | None = None
        # Nobody announces the tasks of one job alone.
        if job is None and broker_of(settings, stages):
            self.messages = ByMessage(
                settings=settings, stages=self.stages, link=self.claim_link, worker=worker, events=events
            )
        self.discovery = Discovery(self, job=job)
        self.handing_back = HandingBack(self)
        self.health = Health(self)
        self._measuring = Measuring(facilities=self.facilities, paces=self.measured)
        self._listener = Listener(
            settings=settings,
            url=url,
            pipelines=frozenset(stage.definition.pipeline for stage in stages),
            hint=self.discovery.hint,
            events=events,
        )
        self._loops: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None

    # ---------------------------------------------------------------- life

    async def start(self) -> None:
        await self.facilities.open()
        async with self.facilities.pool.acquire() as connection:
            self.discovery.clock_behind_seconds = await changes.clock(connection) - time.time()
        for pool in self.pools.values():
            pool.start(self)
        loops: list[tuple[str, Coroutine[Any, Any, None]]] = [
            ("settle", self.settler.run(self.settled)),
            ("discovery", self.discovery.run(self.claimed)),
            ("deadlines", self._watch_deadlines()),
            ("health", self.health.run()),
            ("measuring", self._measuring.run()),
            ("handing-back", self.handing_back.run()),
        ]
        if self.settings.listen and self.settings.profile == "event":
            loops.append(("listener", self._listener.run()))
        if self._throttles:
            loops.append(("coordinator", self._cycles()))
        if self.messages is not None:
            loops += await self.messages.open(
                self.facilities.pool, window=self.discovery.window, arrived=self.discovery.room_freed
            )
        self._failure = asyncio.get_running_loop().create_future()
        for name, loop in loops:
            task = asyncio.create_task(loop, name=f"penstock-{name}")
            task.add_done_callback(self._loop_ended)
            self._loops.append(task)
        self.events.emit("worker.started", worker=self.worker, stages=[stage.label for stage in self.stages.values()])

    async def failed(self) -> None:
        """Waits until one of the runner's own loops has failed, which is a bug; raises its error."""
        assert self._failure is not None
        await self._failure

    async def stop(self, grace_seconds: float) -> None:
        """Stop claiming, let running handlers end within the grace, hand the rest back. Burns no attempt."""
        await self._end_loop("penstock-discovery")
        await self._end_loop("penstock-listener")
        await self._end_loop("penstock-messages")
        self.coordinator.stop()
        self.handing_back.waiting()
        deadline = time.monotonic() + grace_seconds
        while self.coordinator.running and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for pool, processor in self.busy():
            pool.interrupt(processor, HandBack())
        end = time.monotonic() + 1.0
        while self.coordinator.running and time.monotonic() < end:
            await asyncio.sleep(0.01)
        self.handing_back.stubborn()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.settler.drained(), 5.0)
        await self._measuring.last()
        await self._close()
        self.events.emit("worker.stopped", worker=self.worker)

    async def abandon(self) -> None:
        """The leases are gone: interrupt everything and write nothing more."""
        self.coordinator.stop()
        for task in self._loops:
            task.cancel()
        for inbox in self.inboxes.values():
            inbox.drain()
        for pool, processor in self.busy():
            pool.interrupt(processor, HandBack())
        await self._close()

    async def _close(self) -> None:
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        if self.messages is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self.messages.close()
        for pool in self.pools.values():
            await pool.stop()
        await self.claim_link.close()
        await self.settler.link.close()
        await self.facilities.close()

    async def _end_loop(self, name: str) -> None:
        for task in self._loops:
            if task.get_name().startswith(name):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _loop_ended(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            assert self._failure is not None
            if not self._failure.done():
                self._failure.set_exception(error)

    # ---------------------------------------------------------------- moments of a task

    def claimed(self, tasks: Sequence[Claimed]) -> None:
        """They wait in the inboxes of their stages until a processor is free."""
        by_stage: dict[int, list[Claimed]] = {}
        for one in tasks:
            by_stage.setdefault(one.stage, []).append(one)
        for stage, arrived in by_stage.items():
            for one, why in self.inboxes[stage].offer(arrived, self.discovery.priorities):
                self.handing_back.refused(one, why)
            self.measured[stage].add_waits(arrived, time.time() + self.discovery.clock_behind_seconds)
            self.events.emit(
                "tasks.claimed",
                stage=stage,
                count=len(arrived),
                tasks=[one.task_id for one in arrived],
                job_of={one.task_id: one.job_id for one in arrived if one.job_id is not None},
            )
        if self.coordinator.alone is not None:
            self.coordinator.held_up.set()
        if self._at_once:
            self.coordinator.run_once()

    def ended(self, claimed: Claimed, settlement: Settlement | None, took_seconds: float) -> None:
        """The settler stores it; the processor is free. None: the handler has stored its end itself."""
        self.failpoints.hit("after_run")
        if self.coordinator.ended():
            self.handing_back.others_may_start()
        pace = self.measured[claimed.stage]
        pace.add(took_seconds)
        if self.facilities.reported:
            self.facilities.reported.pop(claimed.task_id, None)
        if settlement is None:
            self.settled((claimed.task_id,))
        else:
            if type(settlement) is not Finish or settlement.error is not None:
                if type(settlement) is Release and settlement.burned:
                    pace.retries += 1
                if tell_failed(self.events, claimed, settlement, self.stages[claimed.stage].label):
                    pace.errors += 1
            self.settler.add(settlement)
        if len(self.inboxes[claimed.stage]) <= self.discovery.low_water[claimed.stage]:
            self.discovery.room_freed()

    def settled(self, task_ids: Sequence[int]) -> None:
        """They have left this runner."""
        self.held.let_go(task_ids)
        if self.messages is not None:
            self.messages.settled(task_ids)
        if self.discovery.limited:
            self.discovery.room_freed()

    def cancel(self, leases: Mapping[int, int]) -> None:
        """Somebody cancelled these tasks (task → lease): what runs is interrupted, what waits here goes back."""
        if not leases:
            return
        for pool, processor in self.busy():
            claimed = processor.claimed
            if claimed is not None and leases.get(claimed.task_id) == claimed.lease:
                pool.interrupt(processor, StopAsked("cancelled while it ran"))
        self.handing_back.withdrawn(leases)

    # ---------------------------------------------------------------- loops

    async def _watch_deadlines(self) -> None:
        while True:
            await asyncio.sleep(_DEADLINE_TICK_SECONDS)
            if not self.slots.safe():
                self._lapsed()
            else:
                self._wake_held_back()
            now = time.monotonic_ns()
            for pool, processor in self.busy():
                if now > processor.deadline and processor.interruption is None:
                    pool.interrupt(processor, DeadlinePassed((processor.deadline - processor.started) / 1e9))

    def _wake_held_back(self) -> None:
        """The leases may have been in doubt for less than a tick, so the pools remember it."""
        owed = [pool for pool in self.pools.values() if pool.take_held_back()]
        if owed:
            self.coordinator.run_once()

    async def _cycles(self) -> None:
        beat = Beat(self.settings.coordination_seconds)
        while True:
            self.coordinator.cycle()
            await asyncio.sleep(beat.pause_seconds())

    # ---------------------------------------------------------------- seeing

    def busy(self) -> Iterator[tuple[Pool, Processor]]:
        return ((pool, processor) for pool in self.pools.values() for processor in pool.busy)

    @property
    def paces(self) -> dict[str, Pace]:
        """What was measured per stage since the start."""
        return {stage.label: self.measured[stage_id] for stage_id, stage in self.stages.items()}

    def status(self) -> dict[str, Any]:
        """What the heartbeat carries: per stage processors, inbox and pace; who is busy; the last report."""
        return shown(self)
