"""Notes once or twice a minute how much waits and runs in every stage, for charts of the backlog."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import reads, statistics
from penstock.storage.statistics import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStanding:
    name: str = "note standing"
    # Twice, so that no minute is left out.
    every_seconds: float = 30.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        loads = await reads.stage_load(connection)
        standings = [
            Standing(
                stage=one["id"],
                waiting=one["waiting"],
                running=one["running"],
                oldest_seconds=0
                if one["oldest_at"] is None
                else int((one["read_at"] - one["oldest_at"]).total_seconds()),
            )
            for one in loads
        ]
        await statistics.note(connection, standings)
        return {"stages": sum(one.waiting + one.running > 0 for one in standings)}
