"""Claimed tasks that wait for a processor: bounded, one per stage, fair between lanes.

A task is refused when this runner has it already, in this stage or another, waiting or running; and when the inbox
is full. The database guards the same thing; this guard makes a fault visible instead of running something twice.
"""

from collections import deque
from enum import StrEnum

from penstock.model import Claimed


class Refusal(StrEnum):
    QUEUED = "already waiting in this stage"
    RUNNING = "already running"
    OTHER_STAGE = "in another stage of this runner"
    FULL = "the inbox is full"


class Held:
    """Every task this runner holds a lease on, until it is settled."""

    __slots__ = ("_running", "_stages")

    def __init__(self) -> None:
        self._stages: dict[int, int] = {}
        self._running: set[int] = set()

    def __contains__(self, task_id: int) -> bool:
        return task_id in self._stages

    def __len__(self) -> int:
        return len(self._stages)

    def refuse(self, claimed: Claimed) -> Refusal | None:
        stage = self._stages.get(claimed.task_id)
        if stage is None:
            return None
        if claimed.task_id in self._running:
            return Refusal.RUNNING
        return Refusal.QUEUED if stage == claimed.stage else Refusal.OTHER_STAGE

    def hold(self, claimed: Claimed) -> None:
        self._stages[claimed.task_id] = claimed.stage

    def started(self, task_id: int) -> None:
        self._running.add(task_id)

    def let_go(self, task_id: int) -> None:
        self._stages.pop(task_id, None)
        self._running.discard(task_id)

    @property
    def task_ids(self) -> list[int]:
        return list(self._stages)


class Inbox:
    """Takes turns between the lanes of the most urgent priority that waits."""

    def __init__(self, *, held: Held, size: int) -> None:
        self._held = held
        self.size = size
        self._count = 0
        # priority → lanes in turn, each with its tasks in order
        self._waiting: dict[int, deque[tuple[int, deque[Claimed]]]] = {}
        self._lanes: dict[int, deque[Claimed]] = {}

    def __len__(self) -> int:
        return self._count

    def offer(self, claimed: Claimed, priority: int = 0) -> Refusal | None:
        """Take the task in, or say why not."""
        if (refusal := self._held.refuse(claimed)) is not None:
            return refusal
        if self._count >= self.size:
            return Refusal.FULL
        self._held.hold(claimed)
        lane = self._lanes.get(claimed.lane)
        if lane is None:
            lane = self._lanes[claimed.lane] = deque()
            self._waiting.setdefault(priority, deque()).append((claimed.lane, lane))
        lane.append(claimed)
        self._count += 1
        return None

    def take(self) -> Claimed | None:
        if not self._count:
            return None
        priority = min(self._waiting) if len(self._waiting) > 1 else next(iter(self._waiting))
        turns = self._waiting[priority]
        key, lane = turns[0]
        claimed = lane.popleft()
        self._count -= 1
        if not lane:
            turns.popleft()
            del self._lanes[key]
            if not turns:
                del self._waiting[priority]
        elif len(turns) > 1:
            turns.rotate(-1)
        return claimed

    def drain(self) -> list[Claimed]:
        """Everything that waits, for handing back. The tasks stay held until that is stored."""
        out = []
        while (claimed := self.take()) is not None:
            out.append(claimed)
        return out
