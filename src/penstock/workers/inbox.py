"""Claimed tasks that wait for a processor: bounded, one per stage, fair between lanes.

A task is refused when this runner has it already, in this stage or another, waiting or running; and when the inbox
is full. The database guards the same thing; this guard makes a fault visible instead of running something twice.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from penstock.model import Claimed


class Refusal(StrEnum):
    QUEUED = "already waiting in this stage"
    RUNNING = "already running"
    OTHER_STAGE = "in another stage of this runner"
    FULL = "the inbox is full"


class Held:
    """Every task this runner holds a lease on, until it is settled."""

    __slots__ = ("stages",)

    def __init__(self) -> None:
        self.stages: dict[int, int] = {}

    def __contains__(self, task_id: int) -> bool:
        return task_id in self.stages

    def __len__(self) -> int:
        return len(self.stages)

    def let_go(self, task_ids: Iterable[int]) -> None:
        pop = self.stages.pop
        for task_id in task_ids:
            pop(task_id, None)


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

    def offer(self, arrived: Iterable[Claimed], priorities: Mapping[int, int]) -> list[tuple[Claimed, Refusal]]:
        """Take the tasks in, and say which were refused and why. ``priorities`` by lane; 0 where one is missing."""
        refused: list[tuple[Claimed, Refusal]] = []
        stages, lanes, count = self._held.stages, self._lanes, self._count
        for claimed in arrived:
            task_id = claimed.task_id
            if task_id in stages:
                refused.append((claimed, self._why_refused(claimed)))
                continue
            if count >= self.size:
                refused.append((claimed, Refusal.FULL))
                continue
            stages[task_id] = claimed.stage
            lane = lanes.get(claimed.lane)
            if lane is None:
                lane = lanes[claimed.lane] = deque()
                self._waiting.setdefault(priorities.get(claimed.lane, 0), deque()).append((claimed.lane, lane))
            lane.append(claimed)
            count += 1
        self._count = count
        return refused

    def _why_refused(self, claimed: Claimed) -> Refusal:
        if self._held.stages[claimed.task_id] != claimed.stage:
            return Refusal.OTHER_STAGE
        waiting = any(one.task_id == claimed.task_id for lane in self._lanes.values() for one in lane)
        return Refusal.QUEUED if waiting else Refusal.RUNNING

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

    def withdraw(self, goes: Callable[[Claimed], bool]) -> list[Claimed]:
        """Those that wait here and ``goes`` is true of. They stay held until that is stored."""
        out: list[Claimed] = []
        for key, lane in list(self._lanes.items()):
            gone = [claimed for claimed in lane if goes(claimed)]
            if not gone:
                continue
            out += gone
            kept = [claimed for claimed in lane if not goes(claimed)]
            lane.clear()
            lane.extend(kept)
            if not kept:
                self._forget(key, lane)
        self._count -= len(out)
        return out

    def _forget(self, key: int, lane: deque[Claimed]) -> None:
        del self._lanes[key]
        for priority, turns in self._waiting.items():
            if (key, lane) in turns:
                turns.remove((key, lane))
                if not turns:
                    del self._waiting[priority]
                return

    def drain(self) -> list[Claimed]:
        """Everything that waits, for handing back. The tasks stay held until that is stored."""
        out = []
        while (claimed := self.take()) is not None:
            out.append(claimed)
        return out
