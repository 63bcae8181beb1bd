"""Through a backlog with a real runner, and what that cost."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.fleet.fleet import Fleet
from penstock.storage import queue, stages, tasks
from penstock_bench import cpu
from penstock_bench import statements as bench
from penstock_bench.cpu import Cpu
from penstock_bench.ground import Site

_LOOK_SECONDS = 0.005
_CLOSE_LOOK_SECONDS = 0.001
# A runner that does not move for so long will not finish.
_STILL_SECONDS = 60.0


class Stuck(PenstockError):
    """The runner is there and does nothing: a bug worth a report, or a machine that stands still."""

    def __init__(self, left: int, what: str, seconds: float) -> None:
        super().__init__(
            f"{left:,} {what} are still to come, and nothing has moved for {seconds:.0f} s. Run it again with -v."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What one drain cost."""

    count: int
    seconds: float
    wal_bytes: int
    cpu: Cpu

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


async def pause(site: Site, pipeline: str) -> None:
    await stages.pause(site.connection, pipeline, None, "bench", "the bench prepares")


async def quiet(site: Site, stage: int) -> None:
    """Until the runner has ended what it held when its stage was paused."""
    end = time.monotonic() + _STILL_SECONDS
    while leased := await queue.count_leased(site.connection, [stage]):
        if time.monotonic() > end:
            raise Stuck(sum(leased.values()), "endings", _STILL_SECONDS)
        await asyncio.sleep(0.02)


async def by_runner(site: Site, fleet: Fleet, pipeline: str, count: int) -> Drained:
    """From the beginning of the first claim until ``count`` more outcomes are stored."""
    connection = site.connection
    stage = await bench.stage(connection, pipeline)
    claimed_before, finished_before = await bench.claimed(connection), await bench.finished(connection, stage)
    wal_before = await bench.wal_bytes(connection)
    runners = [runner.pid for runner in fleet.supervisor.runners]
    cpu_before = await cpu.used(site, *runners)
    await stages.resume(connection, pipeline, None)
    await tasks.wake(connection, pipeline)
    # Numbers of leases are drawn while the claim still runs, so the claim that is seen is the first.
    await _until(lambda: bench.claimed(connection), claimed_before + 1, "claims", _CLOSE_LOOK_SECONDS)
    started = time.monotonic() - await bench.claiming_seconds(connection)
    # The sequence says cheaply how far it is; the exact counters are read towards the end only.
    nearly = claimed_before + count - 2 * site.settings.claim_max
    await _until(lambda: bench.claimed(connection), nearly, "claims", _LOOK_SECONDS)
    ended = await _until(
        lambda: bench.finished(connection, stage), finished_before + count, "endings", _CLOSE_LOOK_SECONDS
    )
    return Drained(
        count=count,
        seconds=ended - started,
        wal_bytes=await bench.wal_bytes(connection) - wal_before,
        cpu=await cpu.used(site, *runners) - cpu_before,
    )


async def _until(look: Callable[[], Awaitable[int]], enough: int, what: str, pause_seconds: float) -> float:
    """When it was enough, by the clock of the look that saw it."""
    before, moved = -1, time.monotonic()
    while True:
        looked = time.monotonic()
        now = await look()
        if now >= enough:
            return looked
        if now != before:
            before, moved = now, looked
        elif looked - moved > _STILL_SECONDS:
            raise Stuck(enough - now, what, _STILL_SECONDS)
        await asyncio.sleep(pause_seconds)
