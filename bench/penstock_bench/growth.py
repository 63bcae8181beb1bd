"""`penstock bench growth`: does a runner stay fast when the tables grow, the lanes multiply, or vacuum is held back.

Each comparison has two databases on one server, with a runner each, measured in turn; a ratio of 1 means that it makes
no difference.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.fleet.fleet import Fleet
from penstock.terminal.session import Session
from penstock_bench import drain
from penstock_bench import statements as bench
from penstock_bench.bench_app import sample
from penstock_bench.figures import Goal, Rounds, machine, median, ratio, tell
from penstock_bench.ground import Ground, Site, connected, opened

_FILL_ROWS = 100_000
_TELL_ROWS = 500_000
GOALS = (
    Goal(key="backlog_ratio", least=0.9, meaning="A long backlog against a short one."),
    Goal(key="lanes_ratio", least=0.9, meaning="Many lanes against one."),
    Goal(key="xmin_ratio", least=0.9, meaning="A reader that holds back vacuum against none."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``tasks`` are drained per measurement; ``drained_before`` rows are dead when the held snapshot is measured."""

    tasks: int = 50_000
    rounds: int = 7
    short_backlog: int = 50_000
    long_backlog: int = 5_000_000
    lanes: int = 1_000
    # Also when it is quick: with fewer tasks in a lane than a claim would take of it, it would measure that.
    tasks_in_lanes: int = 50_000
    drained_before: int = 100_000
    # The long backlog is what it is by then; the figures say how long it became.
    fill_seconds: float | None = None
    # By when each of the three comparisons should be through.
    seconds: tuple[float | None, float | None, float | None] = (None, None, None)


FULL = Sizes()
QUICK = Sizes(
    tasks=20_000, rounds=3, short_backlog=20_000, long_backlog=500_000, drained_before=40_000, seconds=(24, 37, 52)
)


async def growth(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    rows = [
        {
            "comparison": one["what"],
            "tasks_per_second": one["tasks_per_second"],
            "against": one["against"],
            "ratio": one["ratio"],
        }
        for one in figures["comparisons"]
    ]
    tell(session, figures, rows, GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    backlog = await _compare_backlogs(ground, sizes)
    many = await _compare_lanes(ground, sizes)
    held = await _compare_snapshots(ground, sizes)
    async with connected(ground.settings, ground.url) as connection:
        where = await machine(connection)
    return {
        "backlog_ratio": backlog["ratio"],
        "lanes_ratio": many["ratio"],
        "xmin_ratio": held["ratio"],
        "comparisons": [backlog, many, held],
        "tasks": sizes.tasks,
        "lanes": sizes.lanes,
        "machine": where,
    }


class _Side:
    """One half of a comparison: a database with waiting tasks, and its runner."""

    def __init__(self, site: Site, fleet: Fleet, lanes: int, stage: int) -> None:
        self.site = site
        self._fleet = fleet
        self._lanes = lanes
        self._stage = stage
        self._text = orjson.dumps(sample(1)).decode()
        self._filled = 0

    async def waiting(self) -> int:
        return self._filled - await bench.finished(self.site.connection, self._stage)

    async def fill(self, wanted: int, until: float | None = None, tell: Callable[[str], None] | None = None) -> None:
        """Up to so many waiting, vacuumed and analyzed: the fill itself must not be what is measured."""
        missing = wanted - await self.waiting()
        connection = self.site.connection
        while missing > 0 and (until is None or time.monotonic() < until):
            count = min(_FILL_ROWS, missing)
            # Together, as an enqueue does: upkeep may put empty lanes to rest in between.
            async with connection.transaction():
                lanes = await bench.open_lanes(connection, "noop", self._lanes)
                await bench.fill(connection, self._stage, self._text, count, lanes)
            self._filled, missing = self._filled + count, missing - count
            if tell is not None and self._filled % _TELL_ROWS == 0:
                tell(f"{self._filled:,} of {wanted:,} filled in")
        await bench.settle_down(self.site.connection)

    async def drain(self, count: int) -> float:
        """Tasks per second. The stage is paused again at the end; what the runner holds by then is drained too."""
        drained = await drain.by_runner(self.site, self._fleet, "noop", count)
        await drain.pause(self.site, "noop")
        await drain.quiet(self.site, self._stage)
        return drained.per_second


@asynccontextmanager
async def _sides(ground: Ground, *lanes: int) -> AsyncIterator[list[_Side]]:
    ground.tell("making two databases, each with a runner")
    async with AsyncExitStack() as stack:
        sides = []
        for count in lanes:
            site = await stack.enter_async_context(ground.site())
            await drain.pause(site, "noop")
            fleet = await stack.enter_async_context(site.fleet("noop"))
            sides.append(_Side(site, fleet, count, await bench.stage(site.connection, "noop")))
        yield sides


async def _compare_backlogs(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with _sides(ground, 1, 1) as (long, short):
        ground.tell(f"filling in {sizes.long_backlog:,} tasks")
        await long.fill(sizes.long_backlog, ground.until(sizes.fill_seconds), ground.tell)
        backlog = await long.waiting()
        found = []
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds[0])):
            await long.fill(backlog)
            await short.fill(sizes.short_backlog)
            found.append(await _in_turn(number, long, short, sizes.tasks))
            _tell_pair(ground, "long and short backlog", found)
        return _comparison(f"{backlog:,} waiting", f"{sizes.short_backlog:,} waiting", found)


async def _compare_lanes(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with _sides(ground, sizes.lanes, 1) as (many, one):
        found = []
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds[1])):
            await many.fill(sizes.tasks_in_lanes)
            await one.fill(sizes.tasks_in_lanes)
            found.append(await _in_turn(number, many, one, sizes.tasks_in_lanes))
            _tell_pair(ground, "many lanes and one", found)
        return _comparison(f"{sizes.lanes:,} lanes", "1 lane", found)


async def _compare_snapshots(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    """What was drained since the snapshot stays in the tables and indexes, and each claim might walk over it."""
    async with _sides(ground, 1, 1) as (held, free):
        found = []
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds[2])):
            for side in (held, free):
                await side.fill(sizes.drained_before)
            async with _held_snapshot(held.site):
                for side in (held, free):
                    await side.drain(sizes.drained_before)
                    await side.fill(sizes.tasks)
                found.append(await _in_turn(number, held, free, sizes.tasks))
            _tell_pair(ground, "snapshot held and none", found)
        return _comparison("snapshot held", "no snapshot", found)


async def _in_turn(number: int, one: _Side, other: _Side, count: int) -> tuple[float, float]:
    """Both rates; every other round the second side goes first, so that nobody is always the one after."""
    rates = {}
    for side in (one, other) if number % 2 else (other, one):
        rates[side] = await side.drain(count)
    return rates[one], rates[other]


@asynccontextmanager
async def _held_snapshot(site: Site) -> AsyncIterator[None]:
    """Somebody's long report, or a forgotten psql."""
    patient = site.settings.model_copy(update={"lease_seconds": 3600.0})
    async with connected(patient, site.url) as connection, connection.transaction(isolation="repeatable_read"):
        await bench.hold_snapshot(connection)
        yield


def _tell_pair(ground: Ground, what: str, found: list[tuple[float, float]]) -> None:
    ground.tell(f"{what}: {found[-1][0]:,.0f}/s and {found[-1][1]:,.0f}/s")


def _comparison(what: str, against: str, found: list[tuple[float, float]]) -> dict[str, Any]:
    one, other = median(first for first, _ in found), median(second for _, second in found)
    return {
        "what": f"{what} against {against}",
        "tasks_per_second": round(one),
        "against": round(other),
        "ratio": ratio(found),
        "rounds": [[round(first), round(second)] for first, second in found],
    }
