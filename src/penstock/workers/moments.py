"""What follows in a runner when tasks were claimed, when a run has ended, and when its end is stored.

The parts of a runner know nothing of each other's duties: they meet here, in three moments.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.brokers.by_message import ByMessage
from penstock.core.report import tell_failed
from penstock.core.settle import Settler
from penstock.core.stage import Stage
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.model import Claimed, Finish, Release, Settlement
from penstock.workers.coordinator import Coordinator
from penstock.workers.discovery import Discovery
from penstock.workers.facilities import Facilities
from penstock.workers.handing_back import HandingBack
from penstock.workers.inbox import Held, Inbox
from penstock.workers.measuring import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """``at_once``: what was claimed starts now, and not with the next cycle of the coordinator."""

    stages: Mapping[int, Stage]
    held: Held
    inboxes: Mapping[int, Inbox]
    paces: Mapping[int, Pace]
    discovery: Discovery
    messages: ByMessage | None
    coordinator: Coordinator
    facilities: Facilities
    settler: Settler
    handing_back: HandingBack
    events: Events
    failpoints: Failpoints
    at_once: bool

    def claimed(self, tasks: Sequence[Claimed]) -> None:
        """They wait in the inboxes of their stages until a processor is free."""
        by_stage: dict[int, list[Claimed]] = {}
        for one in tasks:
            by_stage.setdefault(one.stage, []).append(one)
        for stage, arrived in by_stage.items():
            for one, why in self.inboxes[stage].offer(arrived, self.discovery.priorities):
                self.handing_back.refused(one, why)
            self.paces[stage].add_waits(arrived, time.time() + self.discovery.clock_behind_seconds)
            self.events.emit(
                "tasks.claimed",
                stage=stage,
                count=len(arrived),
                tasks=[one.task_id for one in arrived],
                job_of={one.task_id: one.job_id for one in arrived if one.job_id is not None},
            )
        if self.coordinator.alone is not None:
            self.coordinator.held_up.set()
        if self.at_once:
            self.coordinator.run_once()

    def ended(self, claimed: Claimed, settlement: Settlement | None, took_seconds: float) -> None:
        """The settler stores it; the processor is free. None: the handler has stored its end itself."""
        self.failpoints.hit("after_run")
        if self.coordinator.ended():
            self.handing_back.others_may_start()
        pace = self.paces[claimed.stage]
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
