"""Ends what still waits in cancelled lanes. The cancel itself only marked the lane."""

from dataclasses import dataclass
from typing import Any

from penstock.engine.events import Events
from penstock.storage import lanes, queue

_BATCH = 1000
_BATCHES_PER_RUN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCancelled:
    events: Events
    name: str = "sweep cancelled"
    every_seconds: float = 1.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        await lanes.follow_jobs(connection)
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await queue.sweep_cancelled(connection, _BATCH)
            total += count
            if count < _BATCH:
                break
        if total:
            self.events.emit("tasks.cancelled", count=total)
        return {"cancelled": total}
