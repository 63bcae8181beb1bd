"""Marks empty lanes as inactive, so that workers need not look at them, and those that hold work again as active."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import lanes

_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DeactivateLanes:
    idle_seconds: float = 60.0
    name: str = "deactivate lanes"
    every_seconds: float = 30.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        woken = await lanes.activate_woken(connection)
        total = 0
        while count := await lanes.deactivate_idle(connection, batch=_BATCH, idle_seconds=self.idle_seconds):
            total += count
            if count < _BATCH:
                break
        stranded = await lanes.activate_stranded(connection)
        return {"activated": woken, "stranded": stranded, "deactivated": total}
