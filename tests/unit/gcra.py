"""GCRA in a few lines of Python, in whole microseconds: what the SQL of ``limits`` has to agree with."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

SECOND = 1_000_000


@dataclass
class Gcra:
    rate: float
    burst: int
    tat: float = -math.inf
    blocked_until: float = -math.inf
    # (moment, weight) of everything granted
    grants: list[tuple[float, int]] = field(default_factory=list)

    @property
    def step(self) -> int:
        """Rounded up, so that rounding never adds a permit."""
        return math.ceil(1e6 / self.rate)

    def take(self, at: int, weights: Sequence[int], ahead: int = 0) -> tuple[list[int], int | None]:
        """When each granted request may go, and the wait of the first that was not granted (None: never, or none)."""
        start = max(at, self.blocked_until)
        ready: list[int] = []
        for weight in weights:
            if weight > self.burst:
                return ready, None
            moved = max(self.tat, start) + weight * self.step
            due = max(start, moved - self.burst * self.step)
            if due > at + ahead:
                return ready, int(due - at)
            self.tat = moved
            self.grants.append((due, weight))
            ready.append(int(due - at))
        return ready, None

    def penalise(self, at: int, wait: int) -> None:
        self.blocked_until = max(self.blocked_until, at + wait)
        self.tat = max(self.tat, self.blocked_until + (self.burst - 1) * self.step)


def most_above_the_limit(grants: Iterable[tuple[float, int]], rate: float, burst: int) -> float:
    """The worst window: by how many permits the grants in it exceed ``burst + rate * its length``. Not above 0 is
    good. For each end the worst beginning is the one where ``permits before it - rate * time`` is least."""
    worst, before, least = -math.inf, 0, math.inf
    for at, weight in sorted(grants):
        seconds = at / SECOND
        least = min(least, before - rate * seconds)
        before += weight
        worst = max(worst, before - rate * seconds - least - burst)
    return worst
