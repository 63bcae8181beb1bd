"""`penstock bench latency`: how soon an idle worker starts what was just enqueued.

The handler notes its start in shared memory, so looking at it costs the worker nothing. Tasks come at random moments,
one at a time, each after the one before has started.
"""

import asyncio
import mmap
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.terminal.session import Session
from penstock_bench.bench_app import MARK, MARKS
from penstock_bench.figures import Goal, Rounds, machine, percentile, tell
from penstock_bench.ground import Ground, Site, inherited, opened

_WARM_UP = 20
_LOST_SECONDS = 30.0
GOALS = (
    Goal(key="p50_ms", most=5, meaning="From calling enqueue to the first line of the handler, the usual case."),
    Goal(key="p99_ms", most=25, meaning="One in a hundred waits longer."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    samples: int = 1000
    shortest_gap_seconds: float = 0.005
    longest_gap_seconds: float = 0.06
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(samples=400, seconds=50)


async def latency(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    rows = [
        {"from": "the call of enqueue", **{key: figures[f"{key}_ms"] for key in ("p50", "p90", "p99", "longest")}},
        {"from": "its return", **{key: figures["after_return_ms"][key] for key in ("p50", "p90", "p99", "longest")}},
    ]
    tell(session, figures, rows, GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    path = ground.folder / "marks"
    marks = _make_marks(path, _WARM_UP + sizes.samples)
    async with ground.site() as site:
        where = await machine(site.connection)
        with inherited({MARKS: str(path)}):
            async with site.fleet("mark"):
                numbers = Rounds(_WARM_UP + sizes.samples, ground.until(sizes.seconds))
                found = [await _one(site, marks, number - 1, sizes) for number in numbers][_WARM_UP:]
    called, returned = [one[0] for one in found], [one[1] for one in found]
    return {
        **{f"{key}_ms": value for key, value in _spread(called).items()},
        "after_return_ms": _spread(returned),
        "samples": len(found),
        "machine": where,
    }


async def _one(site: Site, marks: mmap.mmap, number: int, sizes: Sizes) -> tuple[float, float]:
    """(ms from the call, ms from the return) to the start of the handler; the second may be below zero."""
    await asyncio.sleep(random.uniform(sizes.shortest_gap_seconds, sizes.longest_gap_seconds))
    called = time.monotonic_ns()
    await site.tasks.mark.enqueue(number)
    returned = time.monotonic_ns()
    async with asyncio.timeout(_LOST_SECONDS):
        while not (started := MARK.unpack_from(marks, number * MARK.size)[0]):
            await asyncio.sleep(0.002)
    return (started - called) / 1e6, (started - returned) / 1e6


def _make_marks(path: Path, count: int) -> mmap.mmap:
    path.write_bytes(b"\0" * count * MARK.size)
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def _spread(values: list[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "longest": 1.0}
    return {key: round(percentile(values, share), 3) for key, share in shares.items()}
