"""Medians, percentiles, and how a bench tells its figures to people."""

import os
import platform
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.terminal.output import Column, write_table
from penstock.terminal.session import Session
from penstock_bench import statements as bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure and what it should be. ``least`` or ``most``; the sentence says why it matters."""

    key: str
    meaning: str
    least: float | None = None
    most: float | None = None

    def met(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    @property
    def text(self) -> str:
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"


class Rounds:
    """At most so many, and none that would end after ``until`` if it takes as long as the longest before it."""

    def __init__(self, most: int, until: float | None) -> None:
        self._most = most
        self._until = until

    def __iter__(self) -> Iterator[int]:
        longest = 0.0
        for number in range(1, self._most + 1):
            began = time.monotonic()
            if number > 1 and self._until is not None and began + longest > self._until:
                return
            yield number
            longest = max(longest, time.monotonic() - began)


def median(values: Iterable[float]) -> float:
    return statistics.median(list(values))


def ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The median of what each round found: both halves of a round met the same machine, those of two rounds did not."""
    return round(median(one / other for one, other in pairs), 3)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


async def machine(connection: Any) -> dict[str, Any]:
    """What the figures were measured on: without it they say nothing to anybody else."""
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **await bench.machine(connection),
    }


def tell(session: Session, figures: dict[str, Any], rows: Sequence[Mapping[str, Any]], goals: Sequence[Goal]) -> None:
    """One JSON document, or a short table and a sentence per goal."""
    if session.out.json:
        session.out.emit(figures)
        return
    columns = [Column(key=key, title=key.replace("_", " "), show=_shown) for key in rows[0]]
    write_table(session.out.stdout, rows, columns)
    for goal in goals:
        value = figures[goal.key]
        verdict = "good" if goal.met(value) else "short of the goal"
        session.out.stdout.write(f"{goal.key} {value:g} ({goal.text}): {verdict}. {goal.meaning}\n")
    session.out.stdout.flush()


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
