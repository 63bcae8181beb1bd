"""Adds what a runner measured to the statistics of its stages: runs, retries and the time they took.

Nothing of this is on the way of a task: the sums are kept anyway, and every few seconds what was added since the last
look is stored in one statement.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from penstock.engine.worker.beat import Beat
from penstock.engine.worker.discovery import Pace
from penstock.errors import DatabaseError
from penstock.storage import statistics
from penstock.storage.database import passing
from penstock.storage.statistics import Measured

_EVERY_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0


class Measuring:
    """``paces`` by stage id, as the runner counts them."""

    def __init__(self, *, database: Any, paces: Mapping[int, Pace]) -> None:
        self._database = database
        self._paces = paces
        self._stored = dict.fromkeys(paces, (0, 0, 0))

    async def run(self) -> None:
        beat = Beat(_EVERY_SECONDS)
        while True:
            await asyncio.sleep(beat.pause_seconds())
            await self.run_once()

    async def run_once(self) -> int:
        """Returns how many stages had something new. What could not be stored is part of the next one."""
        seen = {stage: (pace.runs, pace.retries, round(pace.run_seconds * 1000)) for stage, pace in self._paces.items()}
        added = []
        for stage, now in seen.items():
            runs, retries, ms = (new - old for new, old in zip(now, self._stored[stage], strict=True))
            if runs or retries:
                added.append(Measured(stage=stage, runs=runs, retries=retries, milliseconds=ms))
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
