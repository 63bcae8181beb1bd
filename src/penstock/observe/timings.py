"""Run and wait times of a runner, as what was added since the last look.

Sums and counts that only grow can be merged over runners and their restarts; an average cannot.
"""

from collections.abc import Mapping
from typing import Any, Protocol

# metric → what it measures; each per stage, as a sum and a count.
TIMES: dict[str, str] = {
    "penstock_run_seconds": "how long handlers ran",
    "penstock_wait_seconds": "how long tasks were due before they were claimed; some of every claim are measured",
}


class Pace(Protocol):
    """What a runner keeps per stage."""

    runs: int
    run_seconds: float
    waits: int
    wait_seconds: float


class Timings:
    """Remembers what was told already."""

    def __init__(self, paces: Mapping[str, Pace]) -> None:
        self._paces = paces
        self._told: dict[str, tuple[int, float, int, float]] = {}

    def take(self) -> list[list[Any]]:
        """In the shape of ``Counter.take``: [metric, labels, n]."""
        taken: list[list[Any]] = []
        for stage, pace in self._paces.items():
            now = (pace.runs, pace.run_seconds, pace.waits, pace.wait_seconds)
            before = self._told.get(stage, (0, 0.0, 0, 0.0))
            self._told[stage] = now
            runs, run_seconds, waits, wait_seconds = (new - old for new, old in zip(now, before, strict=True))
            if runs:
                taken.append(["penstock_run_seconds_sum", {"stage": stage}, run_seconds])
                taken.append(["penstock_run_seconds_count", {"stage": stage}, runs])
            if waits:
                taken.append(["penstock_wait_seconds_sum", {"stage": stage}, wait_seconds])
                taken.append(["penstock_wait_seconds_count", {"stage": stage}, waits])
        return taken
