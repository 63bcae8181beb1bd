"""What a runner measures of its stages: runs, retries, and the time they took and waited. Added to their statistics.

Nothing of this is on the way of a task: the sums are kept anyway, and every few seconds what was added since the last
look is stored in one statement.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.adaptation.claims import ewma
from penstock.model import Claimed
from penstock.observe.times_spread import bucket_of
from penstock.storage import statistics
from penstock.storage.database import DATABASE_FAULTS
from penstock.workers.beat import Beat
from penstock.workers.facilities import Facilities

_EVERY_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_WAITS_MEASURED = 8


@dataclass(slots=True, eq=False)
class Pace:
    """How fast the tasks of a stage are, as this runner measures it."""

    ewma_ms: float | None = None
    runs: int = 0
    errors: int = 0
    retries: int = 0
    run_seconds: float = 0.0
    waits: int = 0
    wait_seconds: float = 0.0
    # By the bucket of ``times_spread``.
    run_buckets: dict[int, int] = field(default_factory=dict)
    wait_buckets: dict[int, int] = field(default_factory=dict)

    def add(self, took_seconds: float) -> None:
        self.ewma_ms = ewma(self.ewma_ms, took_seconds * 1000)
        self.runs += 1
        self.run_seconds += took_seconds
        bucket = bucket_of(took_seconds)
        self.run_buckets[bucket] = self.run_buckets.get(bucket, 0) + 1

    def add_waits(self, claimed: Sequence[Claimed], now_seconds: float) -> None:
        """How long they were due. A few of a claim are enough: they were taken in the order they became due."""
        for one in claimed[:: max(1, len(claimed) // _WAITS_MEASURED)]:
            waited = max(0.0, now_seconds - one.run_at.timestamp())
            bucket = bucket_of(waited)
            self.waits += 1
            self.wait_seconds += waited
            self.wait_buckets[bucket] = self.wait_buckets.get(bucket, 0) + 1


def _sums(pace: Pace) -> dict[int, int]:
    """By state of ``storage.statistics``."""
    return {
        statistics.RUNS: pace.runs,
        statistics.RETRIES: pace.retries,
        statistics.RUN_MS: round(pace.run_seconds * 1000),
        statistics.WAITS: pace.waits,
        statistics.WAIT_MS: round(pace.wait_seconds * 1000),
        **{statistics.RUN_BUCKETS + bucket: n for bucket, n in pace.run_buckets.items()},
        **{statistics.WAIT_BUCKETS + bucket: n for bucket, n in pace.wait_buckets.items()},
    }


class Measuring:
    """``paces`` by stage id, as the runner counts them."""

    def __init__(self, *, facilities: Facilities, paces: Mapping[int, Pace]) -> None:
        self._facilities = facilities
        self._paces = paces
        self._stored: dict[tuple[int, int], int] = {}

    async def run(self) -> None:
        beat = Beat(_EVERY_SECONDS)
        while True:
            await asyncio.sleep(beat.pause_seconds())
            await self.run_once()

    async def run_once(self) -> int:
        """Returns how many sums had grown. What could not be stored is part of the next one."""
        seen = {(stage, state): n for stage, pace in self._paces.items() for state, n in _sums(pace).items()}
        added = [(*key, more) for key, n in seen.items() if (more := n - self._stored.get(key, 0))]
        if not added:
            return 0
        try:
            async with self._facilities.pool.acquire(timeout=_PATIENCE_SECONDS) as connection:
                await statistics.add(connection, added)
        except DATABASE_FAULTS:
            return 0
        self._stored = seen
        return len(added)

    async def last(self) -> None:
        """When the runner stops: a database that does not answer must not hold it up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.run_once()
