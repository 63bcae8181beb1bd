"""Claims due tasks for the stages of a runner and puts them into their inboxes.

Woken by the transport's hint, by freed room, or by the clock; a lost hint costs latency only.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.adaptation.claims import Decision, claim_size, pause_seconds
from penstock.core.claim import Claimer
from penstock.core.outage import LinkWatch
from penstock.model import Claimed, Release
from penstock.storage import checkpoints, queue
from penstock.storage.database import PASSING
from penstock.workers.adaptation import Adaptation
from penstock.workers.beat import Beat

if TYPE_CHECKING:
    from penstock.workers.runner import Runner

_HINT_ROOM = 10
# How far hints may lead past the size that was decided on: a steady stream of them must not fill the inbox.
_HINT_MOST = 100
_WINDOW_MS = 200.0
_ORPHANS_SECONDS = 1.0
_MOST_LEASES = 100_000


class Discovery:
    def __init__(self, runner: "Runner", *, job: int | None) -> None:
        """``job``: claim only its tasks."""
        self._runner = runner
        self._settings = settings = runner.settings
        self._stages = runner.stages
        self.claimer = Claimer(
            link=runner.claim_link,
            worker=runner.worker,
            failpoints=runner.failpoints,
            pipelines={id: stage.definition.pipeline for id, stage in self._stages.items()},
            job=job,
            least_age_seconds=settings.minimum_age_seconds if settings.profile == "paced" else 0.0,
        )
        self._messages = runner.messages  # brokers announce the tasks of some stages
        self._inboxes, self._pools, self._measured = runner.inboxes, runner.pools, runner.measured
        self._watch = LinkWatch(runner.events, "claim")
        self._orphans = _Orphans(runner)
        self._wake = asyncio.Event()
        self._hinted = False
        self._paced = settings.profile == "paced"
        asked = [stage.definition.poll_seconds for stage in self._stages.values()]
        # A stage may ask for more looks than the settings; never for fewer, as all stages are looked at together.
        self._longest_pause_seconds = min([settings.poll_max_seconds, *(one for one in asked if one is not None)])
        self._beat = Beat(settings.discovery_seconds)
        self.polled_at = time.monotonic()
        # How far the local clock is behind the database's; waits are measured in the database's time.
        self.clock_behind_seconds = 0.0
        running = {stage: pool.running for stage, pool in self._pools.items()}
        self.adaptation = Adaptation(settings=settings, stages=running, measured=self._measured, events=runner.events)
        self.decisions: dict[int, Decision[int]] = {}
        # An inbox that falls to this level is worth a claim, while its processors still have something to do.
        self.low_water = dict.fromkeys(self._stages, settings.claim_min)

    @property
    def limited(self) -> bool:
        """Whether a stage or lane of ours has a fleet-wide limit, so that each ending makes room."""
        return self.claimer.turns.limited

    def hint(self, about_everything: bool) -> None:
        """Something was enqueued for one of our stages. Or anything has changed: also rows may have come back that are
        older than where we are in their lane."""
        self.claimer.turns.forget_dry(from_front=about_everything)
        self._hinted = True
        self._wake.set()

    def room_freed(self) -> None:
        self._wake.set()

    @property
    def priorities(self) -> Mapping[int, int]:
        """By lane."""
        return self.claimer.turns.priorities

    def told_by(self, stage: int) -> dict[str, Any]:
        """How this runner learns of the tasks of a stage, for the heartbeat."""
        return {"transport": "postgres"} if self._messages is None else self._messages.shown(stage)

    def window(self, stage: int) -> int:
        """How many announced tasks of a stage are worth having at hand: those of a fifth of a second. They stand in
        line, while those in the inbox take turns by lane."""
        ewma_ms = self._measured[stage].ewma_ms
        if ewma_ms is None:
            return self._settings.claim_min
        soon = self._stages[stage].pool * _WINDOW_MS / max(ewma_ms, 0.01)
        return max(min(int(soon), self.low_water[stage]), self._settings.claim_min)

    async def run(self, arrived: Callable[[Sequence[Claimed]], None]) -> None:
        empty = 0
        while True:
            self._wake.clear()
            owed = None
            try:
                if claimed := await self.run_once():
                    arrived(claimed)
                owed = self._look_owed_seconds()
            except PASSING as error:
                self._orphans.suspect()
                self._watch.lost(error)
                claimed = []
            empty = 0 if claimed else empty + 1
            if claimed and not self._paced and self._has_room():
                continue
            await self._pause(empty, owed)

    async def run_once(self) -> list[Claimed]:
        """One claim over all stages with room. While a task keeps all others from starting here, they are left to
        runners that could start them."""
        if not self._runner.slots.safe():
            return []
        await self._orphans.run_once()
        if self._runner.coordinator.alone is not None:
            return []
        self.adaptation.run_once()
        # A look at all lanes that is still to wait makes no room yet: it would be claimed for at every poll until then.
        hinted = self._hinted or self.claimer.turns.look_due_seconds() == 0
        room = {stage: self._room(stage, hinted) for stage in self._stages}
        if not any(room.values()):
            return []
        self._hinted = False
        claimed = await self.claimer.claim(room, frozenset() if self._messages is None else self._messages.announced)
        if self._messages is not None:
            for one in claimed:
                room[one.stage] -= 1
            claimed += await self._messages.claim(room)
        self._watch.works()
        self.polled_at = time.monotonic()
        await self._with_earlier(claimed)
        return claimed

    async def _with_earlier(self, claimed: list[Claimed]) -> None:
        """Later stages work on the result of the stage before."""
        later = [one for one in claimed if not self._stages[one.stage].first]
        if not later:
            return
        async with self._runner.claim_link.guarded() as connection:
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
        if stage in self.claimer.turns.limited_stages:
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
            ewma_ms=self._measured[stage].ewma_ms,
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
        room = (
            self._runner.slots.safe()
            and self._runner.coordinator.alone is None
            and any(self._room(stage, True) for stage in self._stages)
        )
        return self.claimer.turns.look_due_seconds() if room else None

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
            self.claimer.turns.forget_dry(told=False)


class _Orphans:
    """Leases that nobody knows of: the database gave them to us in an answer that was lost.

    Our heartbeat keeps them alive, so no rescue would ever come for them. After a claim whose answer did not arrive,
    the leases in the database are compared with what the runner holds, for as long as the server may still be working
    on it. Between our claims, so none of ours is under way meanwhile.
    """

    def __init__(self, runner: "Runner") -> None:
        self._runner = runner
        self._look_until = 0.0
        self._look_at = 0.0
        self._seen: set[tuple[int, int, int]] = set()

    def suspect(self) -> None:
        """The answer to a claim was lost."""
        now = time.monotonic()
        self._look_until = now + self._runner.settings.command_timeout_seconds + 2 * _ORPHANS_SECONDS
        self._look_at = now

    async def run_once(self) -> int:
        """Give back what was an orphan in two looks: in one, it may just have been settled. Returns how many."""
        now = time.monotonic()
        if now > self._look_until or now < self._look_at:
            return 0
        self._look_at = now + _ORPHANS_SECONDS
        async with self._runner.claim_link.guarded() as connection:
            leases = await queue.leases_of(connection, self._runner.worker, _MOST_LEASES)
        unknown = {one[:3] for one in leases if one.task_id not in self._runner.held}
        orphans = unknown & self._seen
        self._seen = unknown - orphans
        for orphan in orphans:
            # It never started here, so there is nothing to note in its history.
            self._runner.settler.add(Release(*orphan, cause=None))
        return len(orphans)
