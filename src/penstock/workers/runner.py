"""One runner: puts the parts together, starts and stops them. Knows nothing of processes or heartbeats."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from penstock.brokers.by_message import ByMessage, broker_of
from penstock.config import Settings
from penstock.core.claim import Claimer
from penstock.core.run import DeadlinePassed, HandBack, RunningStage, StopAsked
from penstock.core.settle import Settler
from penstock.core.stage import Stage
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import changes
from penstock.storage.database import Link
from penstock.workers.beat import Beat
from penstock.workers.coordinator import Coordinator, throttles
from penstock.workers.discovery import Discovery
from penstock.workers.facilities import Facilities
from penstock.workers.handing_back import HandingBack
from penstock.workers.health import Health
from penstock.workers.inbox import Held, Inbox
from penstock.workers.listener import Listener
from penstock.workers.measuring import Measuring, Pace
from penstock.workers.moments import Moments
from penstock.workers.orphans import Orphans
from penstock.workers.pool import Pool
from penstock.workers.shown import report_shown, stages_shown
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
        self._settings = settings
        self.worker = worker
        self._events = events
        self._lapsed = lapsed
        self.stages = {stage.id: stage for stage in stages}
        self._slots = slots
        self._held = Held()
        self._inboxes = {stage: Inbox(held=self._held, size=settings.inbox_size) for stage in self.stages}
        self._pace = {stage: Pace() for stage in self.stages}
        self._facilities = Facilities(
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
        self._pools = {
            stage.id: Pool(
                running=RunningStage(stage, self._facilities), first_slot=slot, slots=slots, failpoints=failpoints
            )
            for stage, slot in zip(stages, first_slots, strict=False)
        }
        self._throttles = throttles(settings, stages)
        self._coordinator = Coordinator(
            pools=self._pools, inboxes=self._inboxes, per_cycle=self._throttles, rescue_limit=settings.rescue_limit
        )
        self._claim_link = Link(settings, url, purpose="claim")
        self._settle_link = Link(settings, url, purpose="settle", lock_timeout_ms=500)
        self._settler = Settler(
            link=self._settle_link, worker=worker, settings=settings, events=events, failpoints=failpoints
        )
        self._messages: ByMessage | None = None
        # Nobody announces the tasks of one job alone.
        if job is None and broker_of(settings, stages):
            self._messages = ByMessage(
                settings=settings, stages=self.stages, link=self._claim_link, worker=worker, events=events
            )
        self._discovery = Discovery(
            claimer=Claimer(
                link=self._claim_link,
                worker=worker,
                failpoints=failpoints,
                pipelines={stage.id: stage.definition.pipeline for stage in stages},
                job=job,
                least_age_seconds=settings.minimum_age_seconds if settings.profile == "paced" else 0.0,
            ),
            link=self._claim_link,
            settings=settings,
            inboxes=self._inboxes,
            pools=self._pools,
            pace=self._pace,
            events=events,
            slots=slots,
            coordinator=self._coordinator,
            orphans=Orphans(
                link=self._claim_link, worker=worker, held=self._held, settings=settings, settler=self._settler
            ),
            messages=self._messages,
        )
        self._handing_back = HandingBack(
            inboxes=self._inboxes,
            pools=self._pools,
            coordinator=self._coordinator,
            settler=self._settler,
            facilities=self._facilities,
            discovery=self._discovery,
            messages=self._messages,
        )
        self._moments = Moments(
            stages=self.stages,
            held=self._held,
            inboxes=self._inboxes,
            paces=self._pace,
            discovery=self._discovery,
            messages=self._messages,
            coordinator=self._coordinator,
            facilities=self._facilities,
            settler=self._settler,
            handing_back=self._handing_back,
            events=events,
            failpoints=failpoints,
            at_once=settings.profile == "event",
        )
        self._health = Health(
            settings=settings,
            pools=self._pools,
            inboxes=self._inboxes,
            coordinator=self._coordinator,
            discovery=self._discovery,
            events=events,
            facilities=self._facilities,
        )
        self._measuring = Measuring(facilities=self._facilities, paces=self._pace)
        self._listener = Listener(
            settings=settings,
            url=url,
            pipelines=frozenset(stage.definition.pipeline for stage in stages),
            hint=self._discovery.hint,
            events=events,
        )
        self._loops: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None

    # ---------------------------------------------------------------- life

    async def start(self) -> None:
        await self._facilities.open()
        async with self._facilities.pool.acquire() as connection:
            self._discovery.clock_behind_seconds = await changes.clock(connection) - time.time()
        for pool in self._pools.values():
            pool.start(self._moments)
        loops: list[tuple[str, Coroutine[Any, Any, None]]] = [
            ("settle", self._settler.run(self._moments.settled)),
            ("discovery", self._discovery.run(self._moments.claimed)),
            ("deadlines", self._watch_deadlines()),
            ("health", self._health.run()),
            ("measuring", self._measuring.run()),
            ("handing-back", self._handing_back.run()),
        ]
        if self._settings.listen and self._settings.profile == "event":
            loops.append(("listener", self._listener.run()))
        if self._throttles:
            loops.append(("coordinator", self._cycles()))
        if self._messages is not None:
            loops += await self._messages.open(
                self._facilities.pool, window=self._discovery.window, arrived=self._discovery.room_freed
            )
        self._failure = asyncio.get_running_loop().create_future()
        for name, loop in loops:
            task = asyncio.create_task(loop, name=f"penstock-{name}")
            task.add_done_callback(self._loop_ended)
            self._loops.append(task)
        self._events.emit("worker.started", worker=self.worker, stages=[stage.label for stage in self.stages.values()])

    async def failed(self) -> None:
        """Waits until one of the runner's own loops has failed, which is a bug; raises its error."""
        assert self._failure is not None
        await self._failure

    async def stop(self, grace_seconds: float) -> None:
        """Stop claiming, let running handlers end within the grace, hand the rest back. Burns no attempt."""
        await self._end_loop("penstock-discovery")
        await self._end_loop("penstock-listener")
        await self._end_loop("penstock-messages")
        self._coordinator.stop()
        self._handing_back.waiting()
        deadline = time.monotonic() + grace_seconds
        while self._coordinator.running and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for pool in self._pools.values():
            for processor in pool.busy:
                pool.interrupt(processor, HandBack())
        end = time.monotonic() + 1.0
        while self._coordinator.running and time.monotonic() < end:
            await asyncio.sleep(0.01)
        self._handing_back.stubborn()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settler.drained(), 5.0)
        await self._measuring.last()
        await self._close()
        self._events.emit("worker.stopped", worker=self.worker)

    async def abandon(self) -> None:
        """The leases are gone: interrupt everything and write nothing more."""
        self._coordinator.stop()
        for task in self._loops:
            task.cancel()
        for inbox in self._inboxes.values():
            inbox.drain()
        for pool in self._pools.values():
            for processor in pool.busy:
                pool.interrupt(processor, HandBack())
        await self._close()

    async def _close(self) -> None:
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        if self._messages is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._messages.close()
        for pool in self._pools.values():
            await pool.stop()
        await self._claim_link.close()
        await self._settle_link.close()
        await self._facilities.close()

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

    # ---------------------------------------------------------------- tasks on their way

    def cancel(self, leases: Mapping[int, int]) -> None:
        """Somebody cancelled these tasks (task → lease): what runs is interrupted, what waits here goes back."""
        if not leases:
            return
        for pool in self._pools.values():
            for processor in pool.busy:
                claimed = processor.claimed
                if claimed is not None and leases.get(claimed.task_id) == claimed.lease:
                    pool.interrupt(processor, StopAsked("cancelled while it ran"))
        self.give_back(leases)

    def give_back(self, leases: Mapping[int, int]) -> None:
        """Of these tasks (task → lease), those that have not begun."""
        self._handing_back.withdrawn(leases)

    # ---------------------------------------------------------------- loops

    async def _watch_deadlines(self) -> None:
        while True:
            await asyncio.sleep(_DEADLINE_TICK_SECONDS)
            if not self._slots.safe():
                self._lapsed()
            else:
                self._wake_held_back()
            now = time.monotonic_ns()
            for pool in self._pools.values():
                for processor in pool.busy:
                    if now > processor.deadline and processor.interruption is None:
                        pool.interrupt(processor, DeadlinePassed((processor.deadline - processor.started) / 1e9))

    def _wake_held_back(self) -> None:
        """The leases may have been in doubt for less than a tick, so the pools remember it."""
        owed = [pool for pool in self._pools.values() if pool.take_held_back()]
        if owed:
            self._coordinator.run_once()

    async def _cycles(self) -> None:
        beat = Beat(self._settings.coordination_seconds)
        while True:
            self._coordinator.cycle()
            await asyncio.sleep(beat.pause_seconds())

    # ---------------------------------------------------------------- seeing

    @property
    def paces(self) -> dict[str, Pace]:
        """What was measured per stage since the start."""
        return {stage.label: self._pace[stage_id] for stage_id, stage in self.stages.items()}

    def status(self) -> dict[str, Any]:
        """What the heartbeat carries: per stage processors, inbox and pace; who is busy; the last report."""
        shown = stages_shown(self._pools, self._inboxes, self._pace, self._discovery)
        return {
            **shown,
            "settling": self._settler.waiting,
            "stale": self._settler.stale,
            "held": len(self._held),
            "alone": None if (alone := self._coordinator.alone) is None else alone.task_id,
            "health": report_shown(self._health.last),
            "progress": {str(task): told for task, told in list(self._facilities.reported.items())[:100]},
        }
