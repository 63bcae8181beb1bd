"""How many questions to one provider are under way in this process, and how far apart: follows its ``Pace``."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from penstock.extensions.catalogue.provider_pace import Outcome, Pace, PaceBounds

# A processor is held meanwhile; whoever has to wait longer is sent back by limiter or circuit.
_LONGEST_DELAY_SECONDS = 2.0


class Pacing:
    """Starts at the most that is allowed; trouble lowers it, good answers raise it again."""

    def __init__(self, *, most: int, slow_ms: float) -> None:
        self.pace = Pace(
            concurrency=most,
            bounds=PaceBounds(max_concurrency=most, max_delay_seconds=_LONGEST_DELAY_SECONDS, slow_ms=slow_ms),
        )
        self._under_way = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < self.pace.concurrency)
            self._under_way += 1
        try:
            if self.pace.delay_seconds:
                await asyncio.sleep(self.pace.delay_seconds)
            yield
        finally:
            self._under_way -= 1
            async with self._changed:
                self._changed.notify_all()

    def answered(self, took_seconds: float) -> None:
        self.pace = self.pace.after(Outcome.OK, took_seconds * 1000)

    def throttled(self, took_seconds: float) -> None:
        self.pace = self.pace.after(Outcome.THROTTLED, took_seconds * 1000)

    def failed(self, took_seconds: float) -> None:
        self.pace = self.pace.after(Outcome.FAILED, took_seconds * 1000)
