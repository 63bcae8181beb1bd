"""Claims due tasks for the stages of a runner and puts them into their inboxes.

Woken by the transport's hint, by freed room, or by the clock; a lost hint costs latency only.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.config import Settings
from penstock.engine.claim import Claimer
from penstock.engine.control.claim_size import claim_size, ewma
from penstock.engine.control.decision import Decision
from penstock.engine.control.polling import pause_seconds
from penstock.engine.events import Events
from penstock.engine.link_watch import LinkWatch
from penstock.engine.observe.times_spread import bucket_of
from penstock.engine.run import LiveStage
from penstock.engine.worker.adaptation import Adaptation
from penstock.engine.worker.beat import Beat
from penstock.engine.worker.by_message import ByMessage
from penstock.engine.worker.inbox import Inbox, Refusal
from penstock.engine.worker.orphans import Orphans
from penstock.engine.worker.pool import Pool
from penstock.model import Claimed
from penstock.storage import checkpoints
from penstock.storage.database import Link, passing

_HINT_ROOM = 10
# How far hints may lead past the size that was decided on: a steady stream of them must not fill the inbox.
_HINT_MOST = 100
_WAITS_MEASURED = 8
_WINDOW_MS = 200.0


class Discovery:
    def __init__(
        self,
        *,
        claimer: Claimer,
        link: Link,
        settings: Settings,
        stages: Mapping[int, LiveStage],
        inboxes: Mapping[int, Inbox],
        pools: Mapping[int, Pool],
        pace: Mapping[int, "Pace"],
        arrived: Callable[[], int],
        refused: Callable[[Claimed, Refusal], None],
        events: Events,
        safe: Callable[[], bool],
        alone: Callable[[], bool],
        orphans: Orphans,
    ) -> None:
        """``alone``: a task keeps all others from starting here, so they are left to runners that could start them."""
        self._claimer = claimer
        self._messages: ByMessage | None = None
        self._link = link
        self._settings = settings
        self._stages = stages
        self._inboxes = inboxes
        self._pools = pools
        self._pace = pace
        self._arrived = arrived
        self._refused = refused
        self._events = events
        self._watch = LinkWatch(events, "claim")
        self._safe = safe
        self._alone = alone
        self._orphans = orphans
        self._wake = asyncio.Event()
        self._hinted = False
        self._paced = settings.profile == "paced"
        asked = [live.definition.poll_seconds for live in stages.values()]
        # A stage may ask for more looks than the settings; never for fewer, as all stages are looked at together.
        self._longest_pause_seconds = min([settings.poll_max_seconds, *(one for one in asked if one is not None)])
        self._beat = Beat(settings.discovery_seconds)
        self.polled_at = time.monotonic()
        # How far the local clock is behind the database's; waits are measured in the database's time.
        self.clock_behind_seconds = 0.0
        self.adaptation = Adaptation(settings=settings, stages=stages, measured=pace, events=events)
        self.decisions: dict[int, Decision[int]] = {}
        # An inbox that falls to this level is worth a claim, while its processors still have something to do.
        self.low_water = dict.fromkeys(stages, settings.claim_min)

    @property
    def limited(self) -> bool:
        """Whether a stage or lane of ours has a fleet-wide limit, so that each ending makes room."""
        return self._claimer.limited

    def hint(self, about_everything: bool) -> None:
        """Something was enqueued for one of our stages. Or anything has changed: also rows may have come back that are
        older than where we are in their lane."""
        self._claimer.forget_dry(from_front=about_everything)
        self._hinted = True
        self._wake.set()

    def room_freed(self) -> None:
        self._wake.set()

    def also_by(self, messages: ByMessage) -> None:
        """Brokers announce the tasks of some stages."""
        self._messages = messages
        self._claimer.by_message = messages.serves

    def told_by(self, stage: int) -> dict[str, Any]:
        """How this runner learns of the tasks of a stage, for the heartbeat."""
        return {"transport": "postgres"} if self._messages is None else self._messages.shown(stage)

    def window(self, stage: int) -> int:
        """How many announced tasks of a stage are worth having at hand: those of a fifth of a second. They stand in
        line, while those in the inbox take turns by lane."""
        ewma_ms = self._pace[stage].ewma_ms
        if ewma_ms is None:
            return self._settings.claim_min
        soon = self._stages[stage].pool * _WINDOW_MS / max(ewma_ms, 0.01)
        return max(min(int(soon), self.low_water[stage]), self._settings.claim_min)

    async def run(self) -> None:
        empty = 0
        while True:
            self._wake.clear()
            owed = None
            try:
                count = await self.run_once()
                owed = self._look_owed_seconds()
            except Exception as error:
                if not passing(error):
                    raise
                self._orphans.suspect()
                self._watch.lost(error)
                count = 0
            empty = 0 if count else empty + 1
            if count and not self._paced and self._has_room():
                continue
            await self._pause(empty, owed)

    async def run_once(self) -> int:
        """One claim over all stages with room; returns how many tasks came in."""
        if not self._safe():
            return 0
        await self._orphans.run_once()
        if self._alone():
            return 0
        self.adaptation.run_once()
        hinted = self._hinted or self._claimer.look_due_seconds() is not None
        room = {stage: self._room(stage, hinted) for stage in self._stages}
        if not any(room.values()):
            return 0
        self._hinted = False
        claimed = await self._claimer.claim(room)
        if self._messages is not None:
            for one in claimed:
                room[one.stage] -= 1
            claimed += await self._messages.claim(room)
        self._watch.works()
        self.polled_at = time.monotonic()
        if claimed:
            await self._with_earlier(claimed)
            self._take_in(claimed)
        return len(claimed)

    def _take_in(self, claimed: list[Claimed]) -> None:
        by_stage: dict[int, list[Claimed]] = {}
        for one in claimed:
            by_stage.setdefault(one.stage, []).append(one)
        for stage, arrived in by_stage.items():
            for one, why in self._inboxes[stage].offer(arrived, self._claimer.priorities):
                self._refused(one, why)
            self._pace[stage].add_waits(arrived, time.time() + self.clock_behind_seconds)
            self._events.emit(
                "tasks.claimed",
                stage=stage,
                count=len(arrived),
                tasks=[one.task_id for one in arrived],
                job_of={one.task_id: one.job_id for one in arrived if one.job_id is not None},
            )
        self._arrived()

    async def _with_earlier(self, claimed: list[Claimed]) -> None:
        """Later stages work on the result of the stage before."""
        later = [one for one in claimed if not self._stages[one.stage].first]
        if not later:
            return
        async with self._link.guarded() as connection:
            await checkpoints.earlier(connection, later, [self._stages[one.stage].origin for one in later])

    def _room(self, stage: int, hinted: bool) -> int:
        """How many to claim now: as many as there is use for, and never more than the stage's own batch."""
        batch = self._stages[stage].definition.batch
        if self._paced:
            inbox = self._inboxes[stage]
            return max(0, min(batch or self._settings.paced_batch, inbox.size) - len(inbox))
        room = self._useful(stage, hinted)
        return room if batch is None else min(room, batch)

    def _useful(self, stage: int, hinted: bool) -> int:
        inbox, pool = self._inboxes[stage], self._pools[stage]
        if stage in self._claimer.limited_stages:
            # Under a fleet-wide limit a waiting task would keep a slot from somebody who could run it now.
            return max(0, pool.idle_count - len(inbox))
        target = self._target(stage)
        room = target - len(inbox)
        if hinted:
            room = min(max(room, _HINT_ROOM), target + _HINT_MOST - len(inbox))
        elif room < target // 2 and pool.idle_count == 0:
            return 0
        # Half at a time, so that the next claim is under way while the processors work on the last one.
        return max(
            0, min(room, max(target // 2, self._settings.claim_min), self._settings.claim_max, inbox.size - len(inbox))
        )

    def _target(self, stage: int) -> int:
        wanted = claim_size(
            ewma_ms=self._pace[stage].ewma_ms,
            processors=self._stages[stage].pool,
            slice_ms=self.adaptation.slice_ms,
            safety=self._settings.safety_factor,
            least=self._settings.claim_min,
            # Some places are left for what a hint announces: it must not wait for the tasks of others.
            most=min(2 * self._settings.claim_max, max(1, self._settings.inbox_size - _HINT_ROOM)),
        )
        decision = self.adaptation.shrink(stage, wanted)
        self.decisions[stage] = decision
        self.low_water[stage] = decision.value // 2
        return decision.value

    def _has_room(self) -> bool:
        return any(self._room(stage, False) for stage in self._stages)

    def _look_owed_seconds(self) -> float | None:
        """When to look at all lanes for what was announced; nothing where there is no room for it anyway."""
        room = self._safe() and not self._alone() and any(self._room(stage, True) for stage in self._stages)
        return self._claimer.look_due_seconds() if room else None

    async def _pause(self, empty: int, owed: float | None = None) -> None:
        if self._paced:
            await asyncio.sleep(self._beat.pause_seconds())
            return
        pause = pause_seconds(
            empty_claims=empty,
            least=self._settings.poll_min_seconds,
            most=self._longest_pause_seconds,
            chance=random.random(),
        )
        try:
            # Not wait_for: before Python 3.12 it swallows a cancellation that meets a wake-up, and the stop hangs.
            async with asyncio.timeout(pause if owed is None else min(pause, owed)):
                await self._wake.wait()
        except TimeoutError:
            if owed is not None:
                return
            # Nobody told us anything, which may mean that nobody could: look at every lane, also the dry ones. But that
            # is no hint: there is no reason to claim more than there is room for.
            self._claimer.forget_dry(told=False)


class Pace:
    """How fast the tasks of a stage are, as this runner measures it."""

    __slots__ = (
        "errors",
        "ewma_ms",
        "retries",
        "run_buckets",
        "run_seconds",
        "runs",
        "wait_buckets",
        "wait_seconds",
        "waits",
    )

    def __init__(self) -> None:
        self.ewma_ms: float | None = None
        self.runs = 0
        self.errors = 0
        self.retries = 0
        self.run_seconds = 0.0
        self.waits = 0
        self.wait_seconds = 0.0
        # By the bucket of ``times_spread``.
        self.run_buckets: dict[int, int] = {}
        self.wait_buckets: dict[int, int] = {}

    def add(self, took_seconds: float) -> None:
        self.ewma_ms = ewma(self.ewma_ms, took_seconds * 1000)
        self.runs += 1
        self.run_seconds += took_seconds
        bucket = bucket_of(took_seconds)
        self.run_buckets[bucket] = self.run_buckets.get(bucket, 0) + 1

    def add_waits(self, claimed: Sequence[Claimed], now_seconds: float) -> None:
        """How long they were due. A few of a claim are enough: they were taken in the order they became due."""
        for one in claimed[:: max(1, len(claimed) // _WAITS_MEASURED)]:
            waited = max(0.0, now_seconds - one.run_at.timestamp())
            bucket = bucket_of(waited)
            self.waits += 1
            self.wait_seconds += waited
            self.wait_buckets[bucket] = self.wait_buckets.get(bucket, 0) + 1
