"""Who waits at one limiter in one process, in the order they are served: lanes take turns, one request each.

A lane with ten thousand waiters does not stand before the single one of another lane. Who comes again, because its
permit became void, has had its turn and goes first.
"""

import asyncio
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False)
class Waiter:
    weight: int
    lane: Hashable
    permit: asyncio.Future[Any]


class WaitingLine:
    """Adding and removing cost the same however many wait."""

    def __init__(self) -> None:
        # Lanes in the order of their turns; a dict keeps the order of coming and forgets quickly.
        self._lanes: dict[Hashable, dict[Waiter, None]] = {}
        self._again: dict[Waiter, None] = {}

    def __len__(self) -> int:
        return len(self._again) + sum(len(lane) for lane in self._lanes.values())

    def __contains__(self, waiter: Waiter) -> bool:
        return waiter in self._again or waiter in self._lanes.get(waiter.lane, ())

    def __iter__(self) -> Iterator[Waiter]:
        """In the order of service. To be read before anything changes."""
        yield from self._again
        turns = [iter(lane) for lane in self._lanes.values()]
        while turns:
            left = []
            for turn in turns:
                waiter = next(turn, None)
                if waiter is not None:
                    yield waiter
                    left.append(turn)
            turns = left

    def add(self, waiter: Waiter, *, again: bool = False) -> None:
        if again:
            self._again[waiter] = None
        else:
            self._lanes.setdefault(waiter.lane, {})[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        """It left, or was sent away. Its lane keeps its turn."""
        self._again.pop(waiter, None)
        lane = self._lanes.get(waiter.lane)
        if lane is not None:
            lane.pop(waiter, None)
            if not lane:
                del self._lanes[waiter.lane]

    def served(self, waiter: Waiter) -> None:
        """It has a permit; the next turn of its lane comes after those of all others."""
        again = waiter in self._again
        self.remove(waiter)
        if not again and waiter.lane in self._lanes:
            self._lanes[waiter.lane] = self._lanes.pop(waiter.lane)

    def weight_before(self, lane: Hashable) -> int:
        """What a newcomer of this lane would wait for."""
        turns = len(self._lanes.get(lane, ()))
        before = sum(waiter.weight for waiter in self._again)
        for one in self._lanes.values():
            for number, waiter in enumerate(one):
                if number > turns:
                    break
                before += waiter.weight
        return before
