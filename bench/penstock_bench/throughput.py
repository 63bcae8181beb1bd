"""`penstock bench throughput`: one runner against the same statements driven bare.

In rounds, so that whatever else the machine does falls on both. Raw is measured on one connection and on two, because
a runner works on two; the ratio is to the better of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.core.background import Enqueueable
from penstock.core.jobs import Job
from penstock.fleet.fleet import Fleet
from penstock.storage import lanes
from penstock.terminal.session import Session
from penstock_bench import bare, drain
from penstock_bench import statements as bench
from penstock_bench.bench_app import sample
from penstock_bench.drain import Drained
from penstock_bench.figures import Goal, Rounds, machine, median, ratio, tell
from penstock_bench.ground import Ground, Site, opened

# Words by which the server's list of statements shows the two.
_CLAIM, _SETTLE = "for update skip locked) q", "insert into penstock.outcomes"
GOALS = (
    Goal(
        key="ratio", least=0.6, meaning="What is left of the database's own speed when the whole engine is around it."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``seconds``: no round is begun that would end later."""

    tasks: int = 50_000
    rounds: int = 7
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(tasks=20_000, rounds=3, seconds=50)


async def throughput(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    rows = [
        {"way": "one runner", "tasks_per_second": figures["tasks_per_second"]},
        {"way": "bare on one connection", "tasks_per_second": figures["raw1_tasks_per_second"]},
        {"way": "bare on two connections", "tasks_per_second": figures["raw2_tasks_per_second"]},
    ]
    tell(session, figures, rows, GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with ground.site() as site:
        counted = await bench.watch_statements(site.connection)
        where = await machine(site.connection)
        async with site.fleet("noop") as fleet:
            drains = _Drains(site, fleet, sizes, counted=counted)
            await drains.raw(1, 1000)  # plans, caches and files of the server are warm for everybody
            found = [await drains.round(number) for number in Rounds(sizes.rounds, ground.until(sizes.seconds))]
    return _figures(found, sizes) | {"batch": _batch(site), "machine": where}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    raw1: Drained
    raw2: Drained
    runner: Drained
    statements: list[bench.Statement]


class _Backlog:
    """Tasks of one kind, all in one job, so that every round works on the same lane."""

    def __init__(self, site: Site, task: Enqueueable[Any, Any]) -> None:
        self._site = site
        self._task = task
        self._job: Job | None = None

    async def fill(self, count: int) -> None:
        """Through the public API, and then vacuumed: every measurement starts from the same state."""
        rows = (sample(number) for number in range(count))
        self._job = await self._task.options(job=self._job).enqueue_many(rows)
        await bench.settle_down(self._site.connection)

    async def lane(self) -> int:
        assert self._job is not None
        found: int = (await lanes.of_job(self._site.connection, self._job.id))[0]["id"]
        return found


class _Drains:
    """One database with the two backlogs, and the runner that works on one of them."""

    def __init__(self, site: Site, fleet: Fleet, sizes: Sizes, *, counted: bool) -> None:
        self._site = site
        self._fleet = fleet
        self._sizes = sizes
        self._counted = counted
        self._noop = _Backlog(site, site.tasks.noop)
        self._bare = _Backlog(site, site.tasks.bare)

    async def round(self, number: int) -> _Round:
        raw1 = await self.raw(1, self._sizes.tasks)
        runner, statements = await self._runner()
        raw2 = await self.raw(2, self._sizes.tasks)
        self._site.ground.tell(
            f"round {number} of {self._sizes.rounds}: runner {runner.per_second:,.0f}/s,"
            f" bare {raw1.per_second:,.0f}/s on one connection, {raw2.per_second:,.0f}/s on two"
        )
        return _Round(raw1=raw1, raw2=raw2, runner=runner, statements=statements)

    async def _runner(self) -> tuple[Drained, list[bench.Statement]]:
        connection = self._site.connection
        await drain.pause(self._site, "noop")
        await self._noop.fill(self._sizes.tasks)
        if self._counted:
            await bench.forget_statements(connection)
        drained = await drain.by_runner(self._site, self._fleet, "noop", self._sizes.tasks)
        return drained, await bench.statements(connection) if self._counted else []

    async def raw(self, connections: int, count: int) -> Drained:
        await self._bare.fill(count)
        lane = await self._bare.lane()
        drained = await bare.drain(self._site, "bare", lane, connections=connections, batch=_batch(self._site))
        if drained.count != count:
            raise AssertionError(f"the bare statements settled {drained.count:,} of {count:,} tasks")
        return drained


def _batch(site: Site) -> int:
    """What the runner claims at most, and does when tasks take no time."""
    return min(site.settings.claim_max, site.settings.inbox_size)


def _figures(found: list[_Round], sizes: Sizes) -> dict[str, Any]:
    runner = median(one.runner.per_second for one in found)
    raw1, raw2 = (median(getattr(one, raw).per_second for one in found) for raw in ("raw1", "raw2"))
    better = "raw1" if raw1 > raw2 else "raw2"
    return {
        "tasks_per_second": round(runner),
        "raw_tasks_per_second": round(max(raw1, raw2)),
        "ratio": ratio((one.runner.per_second, getattr(one, better).per_second) for one in found),
        "raw1_tasks_per_second": round(raw1),
        "raw2_tasks_per_second": round(raw2),
        "tasks": sizes.tasks,
        "rounds": [
            {name: round(getattr(one, name).per_second) for name in ("runner", "raw1", "raw2")} for one in found
        ],
        "wal_bytes_per_task": round(median(one.runner.wal_bytes / sizes.tasks for one in found)),
        "raw_wal_bytes_per_task": round(median(one.raw1.wal_bytes / sizes.tasks for one in found)),
        **_cpu(found, sizes),
        **_server(found, sizes),
    }


def _cpu(found: list[_Round], sizes: Sizes) -> dict[str, float | None]:
    """On a machine with nothing to spare, the ratio comes near to the one of the CPU times; and those stand a crowd."""

    def per_task(seconds: Iterable[float | None]) -> float | None:
        known = [one for one in seconds if one is not None]
        return round(median(known) / sizes.tasks * 1e6, 1) if known else None

    runner = per_task(one.runner.cpu.seconds for one in found)
    raw = per_task(one.raw2.cpu.seconds for one in found)
    return {
        "runner_cpu_us_per_task": per_task(one.runner.cpu.client_seconds for one in found),
        "server_cpu_us_per_task": per_task(one.runner.cpu.server_seconds for one in found),
        "raw_client_cpu_us_per_task": per_task(one.raw2.cpu.client_seconds for one in found),
        "raw_server_cpu_us_per_task": per_task(one.raw2.cpu.server_seconds for one in found),
        "cpu_ratio": None if runner is None or raw is None else round(raw / runner, 3),
    }


def _server(found: list[_Round], sizes: Sizes) -> dict[str, float | None]:
    """How often the runner asked, and how long the server worked for it; unknown where it does not count."""

    def total(of: str, word: str = "") -> float | None:
        if not found[0].statements:
            return None
        return median(sum(getattr(one, of) for one in each.statements if word in one.query) for each in found)

    def share(value: float | None, digits: int, unit: float = 1.0) -> float | None:
        return None if value is None else round(value / sizes.tasks * unit, digits)

    return {
        "queries_per_task": share(total("calls"), 5),
        "claims": total("calls", _CLAIM),
        "settles": total("calls", _SETTLE),
        "claim_server_us_per_task": share(total("milliseconds", _CLAIM), 1, 1e3),
        "settle_server_us_per_task": share(total("milliseconds", _SETTLE), 1, 1e3),
    }
