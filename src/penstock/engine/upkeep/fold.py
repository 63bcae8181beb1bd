"""Folds appended counts into one row per lane, stage and state, and keeps the movement per minute."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import counts

_BATCH = 5000
_BATCHES_PER_RUN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldCounts:
    name: str = "fold counts"
    every_seconds: float = 5.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await counts.fold(connection, _BATCH)
            total += count
            if count < _BATCH:
                break
        return {"folded": total}
