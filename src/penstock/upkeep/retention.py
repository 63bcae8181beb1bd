"""Removes finished tasks after their time, then jobs and lanes that hold nothing any more, in small batches that never
hold a lock for long."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.config import Settings
from penstock.core import preferences
from penstock.storage import audit, counts, dead_messages, duties, jobs, lanes, outcomes, statistics, workers
from penstock.storage.outcomes import EARLIEST, LATEST
from penstock.upkeep.duty import in_batches, removals

_BATCH = 1000
_BATCHES_PER_RUN = 300
_DAY_SECONDS = 86_400.0
_WORKER_ROWS_KEPT_SECONDS = _DAY_SECONDS
# Behind the place that was reached: a row that somebody held just then was passed by.
_LOOKED_AT_AGAIN = timedelta(minutes=5)
# After a long stop: each batch begins at the front of its window.
_READ_AT_ONCE = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What admins changed counts from the next run on. Items of jobs are what people submitted: they are kept until
    somebody says how long. Tasks of no job are enqueued by programs, and would fill the disk of whoever never looks."""

    settings: Settings
    name: str = "retention"
    every_seconds: float = 60.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        kept = await preferences.read(connection, self.settings)
        ended, dead, audited = (
            None if (days := kept[name].value) is None else days * _DAY_SECONDS
            for name in ("endedItemsDays", "deadLettersDays", "auditDays")
        )
        # Of everything that belongs to no job.
        single = preferences.SINGLE_DAYS * _DAY_SECONDS if ended is None else ended
        single_dead = single if dead is None else dead
        removed = {
            "tasks": await self._expire_tasks(connection, ended, dead, single),
            "jobs": 0 if ended is None else await jobs.expire(connection, ended),
            "lanes": await lanes.expire(connection, max(single, single_dead), _BATCH),
            "dead_messages": await dead_messages.expire(connection, single_dead, _BATCH),
            "statistics": await counts.expire_statistics(connection, single)
            + await statistics.expire_details(connection),
            "workers": await workers.forget(connection, _WORKER_ROWS_KEPT_SECONDS),
            "audit": 0
            if audited is None
            else await in_batches(
                lambda batch: audit.forget(connection, audited, batch), _BATCH, most=_BATCHES_PER_RUN
            ),
        }
        for forget in removals("penstock.retention"):
            removed |= await forget(connection, single)
        return removed

    async def _expire_tasks(self, connection: Any, ended: float | None, dead: float | None, single: float) -> int:
        """What is kept for ever is not read again and again: a run goes on where the last one stopped."""
        since = await self._since(connection, dead) if ended is None else EARLIEST
        total, reached = 0, None
        for _ in range(_BATCHES_PER_RUN):
            until = LATEST if since == EARLIEST else since + _READ_AT_ONCE
            gone = await outcomes.expire(
                connection, ended, dead, _BATCH, single_seconds=single, single_since=since, single_until=until
            )
            total += gone.count
            if gone.count >= _BATCH:
                continue
            since = reached = gone.until
            if gone.until < until:
                break
        if ended is not None:
            await duties.reach(connection, self.name, None)
        elif reached is not None:
            await duties.reach(connection, self.name, {"until": reached.isoformat(), "dead": dead is None})
        return total

    async def _since(self, connection: Any, dead: float | None) -> datetime:
        """A place counts for dead letters of no job only if they were removed on the way to it."""
        reached = await duties.position(connection, self.name)
        if reached is None or (dead is None and not reached["dead"]):
            return EARLIEST
        return datetime.fromisoformat(reached["until"]) - _LOOKED_AT_AGAIN
