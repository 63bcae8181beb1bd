"""One runner: puts the parts together, starts and stops them. Knows nothing of processes or heartbeats."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from penstock.config import Settings
from penstock.engine.claim import Claimer
from penstock.engine.events import Events
from penstock.engine.report import tell_failed
from penstock.engine.run import DeadlinePassed, HandBack, LiveStage, StopAsked
from penstock.engine.settle import Settler
from penstock.engine.worker.beat import Beat
from penstock.engine.worker.by_message import ByMessage, broker_of
from penstock.engine.worker.coordinator import Coordinator, throttles
from penstock.engine.worker.discovery import Discovery, Pace
from penstock.engine.worker.facilities import Facilities
from penstock.engine.worker.handing_back import HandingBack
from penstock.engine.worker.health import Health
from penstock.engine.worker.inbox import Held, Inbox
from penstock.engine.worker.listener import Listener
from penstock.engine.worker.measuring import Measuring
from penstock.engine.worker.orphans import Orphans
from penstock.engine.worker.pool import Pool
from penstock.engine.worker.shown import report_shown, stages_shown
from penstock.engine.worker.slots import Slots
from penstock.failpoints import Failpoints
from penstock.model import Claimed, Finish, Release, Settlement
from penstock.storage import changes, tasks
from penstock.storage.database import Link

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
        stages: Sequence[LiveStage],
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
        self._url = url
        self._job = job
        self.worker = worker
        self._events = events
        self._failpoints = failpoints
        self.stages = {stage.id: stage for stage in stages}
        self._slots = slots
        self._held = Held()
        self._inboxes = {stage: Inbox(held=self._held, size=settings.inbox_size) for stage in self.stages}
        self._pace = {stage: Pace() for stage in self.stages}
        self._throttles = throttles(settings, stages)
        self._coordinator = Coordinator(
            inboxes=self._inboxes,
            per_cycle=self._throttles,
            rescue_limit=settings.rescue_limit,
            turned_alone=self._turned_alone,
        )
        self._lapsed = lapsed
        self._claim_link = Link(settings, url, purpose="claim")
        self._settle_link = Link(settings, url, purpose="settle", lock_timeout_ms=500)
        self._settler = Settler(
            link=self._settle_link,
            worker=worker,
            settings=settings,
            events=events,
            failpoints=failpoints,
            settled=self._let_go,
        )
        self._orphans = Orphans(
            link=self._claim_link, worker=worker, held=self._held, settings=settings, give_back=self._settler.add
        )
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
        self._pools = self._make_pools()
        self._messages: ByMessage | None = None
        self._handing_back = HandingBack(
            inboxes=self._inboxes,
            pools=self._pools,
            coordinator=self._coordinator,
            settler=self._settler,
            rest=self._rest,
            tell_others=self._tell_others,
        )
        self._discovery = self._make_discovery()
        self._health: Health | None = None
        self._measuring: Measuring | None = None
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
            pool.start()
        self._health = self._make_health()
        self._measuring = Measuring(database=self._facilities.pool, paces=self._pace)
        loops: list[tuple[str, Coroutine[Any, Any, None]]] = [
            ("settle", self._settler.run()),
            ("discovery", self._discovery.run()),
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
            loops += await self._messages.open(self._facilities.pool)
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
        if self._measuring is not None:
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

    def _ended(self, claimed: Claimed, settlement: Settlement | None, took_seconds: float) -> None:
        self._failpoints.hit("after_run")
        self._coordinator.ended()
        self._pace[claimed.stage].add(took_seconds)
        if self._facilities.reported:
            self._facilities.reported.pop(claimed.task_id, None)
        if settlement is None:
            self._let_go((claimed.task_id,))
        else:
            if type(settlement) is not Finish or settlement.error is not None:
                if type(settlement) is Release and settlement.burned:
                    self._pace[claimed.stage].retries += 1
                if tell_failed(self._events, claimed, settlement, self.stages[claimed.stage].label):
                    self._pace[claimed.stage].errors += 1
            self._settler.add(settlement)
        if len(self._inboxes[claimed.stage]) <= self._discovery.low_water[claimed.stage]:
            self._discovery.room_freed()

    def _let_go(self, task_ids: Sequence[int]) -> None:
        self._held.let_go(task_ids)
        if self._messages is not None:
            self._messages.settled(task_ids)
        if self._discovery.limited:
            self._discovery.room_freed()

    def _came_in(self) -> int:
        if self._coordinator.alone is not None:
            self._handing_back.look()
        return self._coordinator.run_once() if self._settings.profile == "event" else 0

    def _turned_alone(self, alone: bool) -> None:
        """A task runs alone, or waits to; or that is over."""
        if alone:
            self._handing_back.look()
            return
        if self._messages is not None:
            self._messages.resume()
        self._discovery.room_freed()

    def _rest(self) -> None:
        if self._messages is not None:
            self._messages.rest()

    async def _tell_others(self) -> None:
        async with self._facilities.pool.acquire() as connection:
            await tasks.wake(connection, "")

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
            "health": report_shown(None if self._health is None else self._health.last),
            "progress": {str(task): told for task, told in list(self._facilities.reported.items())[:100]},
        }

    def _make_pools(self) -> dict[int, Pool]:
        pools: dict[int, Pool] = {}
        slot = 0
        for stage_id, stage in self.stages.items():
            pools[stage_id] = Pool(
                stage=stage,
                first_slot=slot,
                slots=self._slots,
                surroundings=self._facilities,
                next_for=self._coordinator.next_for,
                safe=self._slots.safe,
                ended=self._ended,
                failpoints=self._failpoints,
            )
            slot += stage.pool
            self._coordinator.attach(pools[stage_id])
        return pools

    def _make_health(self) -> Health:
        return Health(
            settings=self._settings,
            pools=self._pools,
            inboxes=self._inboxes,
            coordinator=self._coordinator,
            discovery=self._discovery,
            events=self._events,
            database=self._facilities.pool,
        )

    def _make_discovery(self) -> Discovery:
        pipelines: Mapping[int, str] = {stage_id: stage.definition.pipeline for stage_id, stage in self.stages.items()}
        claimer = Claimer(
            link=self._claim_link,
            worker=self.worker,
            failpoints=self._failpoints,
            pipelines=pipelines,
            job=self._job,
            least_age_seconds=self._settings.minimum_age_seconds if self._settings.profile == "paced" else 0.0,
        )
        discovery = Discovery(
            claimer=claimer,
            link=self._claim_link,
            settings=self._settings,
            stages=self.stages,
            inboxes=self._inboxes,
            pools=self._pools,
            pace=self._pace,
            arrived=self._came_in,
            refused=self._handing_back.refused,
            events=self._events,
            safe=self._slots.safe,
            alone=lambda: self._coordinator.alone is not None,
            orphans=self._orphans,
        )
        # Nobody announces the tasks of one job alone.
        if self._job is None and broker_of(self._settings, self.stages.values()):
            self._messages = ByMessage(
                settings=self._settings,
                stages=self.stages,
                link=self._claim_link,
                worker=self.worker,
                events=self._events,
                window=discovery.window,
                arrived=discovery.room_freed,
                turned=claimer.look_again,
            )
            discovery.also_by(self._messages)
        return discovery
