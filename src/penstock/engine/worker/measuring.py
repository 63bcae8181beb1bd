"""Adds what a runner measured to the statistics of its stages: runs, retries and the time they took
and waited.

Nothing of this is on the way of a task: the sums are kept anyway, and every few seconds what was added since the last
look is stored in one statement.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from penstock.engine.worker.beat import Beat
from penstock.engine.worker.discovery import Pace
from penstock.errors import DatabaseError
from penstock.storage import statistics
from penstock.storage.database import passing
from penstock.storage.statistics import Measured

_EVERY_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """The sums of a pace at one moment."""

    runs: int = 0
    retries: int = 0
    milliseconds: int = 0
    waits: int = 0
    wait_milliseconds: int = 0
    run_buckets: Mapping[int, int] = field(default_factory=dict)
    wait_buckets: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pace: Pace) -> "_Seen":
        return cls(
            runs=pace.runs,
            retries=pace.retries,
            milliseconds=round(pace.run_seconds * 1000),
            waits=pace.waits,
            wait_milliseconds=round(pace.wait_seconds * 1000),
            run_buckets=dict(pace.run_buckets),
            wait_buckets=dict(pace.wait_buckets),
        )

    def since(self, before: "_Seen", stage: int) -> Measured:
        return Measured(
            stage=stage,
            runs=self.runs - before.runs,
            retries=self.retries - before.retries,
            milliseconds=self.milliseconds - before.milliseconds,
            waits=self.waits - before.waits,
            wait_milliseconds=self.wait_milliseconds - before.wait_milliseconds,
            run_buckets=_added(self.run_buckets, before.run_buckets),
            wait_buckets=_added(self.wait_buckets, before.wait_buckets),
        )


def _added(now: Mapping[int, int], before: Mapping[int, int]) -> dict[int, int]:
    return {bucket: n - before.get(bucket, 0) for bucket, n in now.items()}


class Measuring:
    """``paces`` by stage id, as the runner counts them."""

    def __init__(self, *, database: Any, paces: Mapping[int, Pace]) -> None:
        self._database = database
        self._paces = paces
        self._stored = dict.fromkeys(paces, _Seen())

    async def run(self) -> None:
        beat = Beat(_EVERY_SECONDS)
        while True:
            await asyncio.sleep(beat.pause_seconds())
            await self.run_once()

    async def run_once(self) -> int:
        """Returns how many stages had something new. What could not be stored is part of the next one."""
        seen = {stage: _Seen.of(pace) for stage, pace in self._paces.items()}
        added = [now.since(self._stored[stage], stage) for stage, now in seen.items() if now != self._stored[stage]]
        if not added:
            return 0
        try:
            async with self._database.acquire(timeout=_PATIENCE_SECONDS) as connection:
                await statistics.add(connection, added)
        except Exception as error:
            if not (passing(error) or isinstance(error, DatabaseError)):
                raise
            return 0
        self._stored = seen
        return len(added)

    async def last(self) -> None:
        """When the runner stops: a database that does not answer must not hold it up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.run_once()
