"""Removes finished tasks after their time, then jobs and lanes that hold nothing any more, in small batches that never
hold a lock for long."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import (
    counts,
    dead_messages,
    jobs,
    lanes,
    login_links,
    outcomes,
    selections,
    sessions,
    statistics,
    workers,
)

_BATCH = 1000
_BATCHES_PER_RUN = 300
_WORKER_ROWS_KEPT_SECONDS = 86_400.0
_ENDED_LOGINS_KEPT_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    keep_seconds: float
    name: str = "retention"
    every_seconds: float = 60.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        expired = await self._expire_tasks(connection)
        return {
            "tasks": expired,
            "jobs": await jobs.expire(connection, self.keep_seconds),
            "lanes": await lanes.expire(connection, self.keep_seconds, _BATCH),
            "dead_messages": await dead_messages.expire(connection, self.keep_seconds, _BATCH),
            "statistics": await counts.expire_statistics(connection, self.keep_seconds)
            + await statistics.expire_details(connection),
            "workers": await workers.forget(connection, _WORKER_ROWS_KEPT_SECONDS),
            "sessions": await sessions.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
            "login_links": await login_links.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
            "selections": await selections.forget(connection, self.keep_seconds, _BATCH),
        }

    async def _expire_tasks(self, connection: Any) -> int:
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await outcomes.expire(connection, self.keep_seconds, _BATCH)
            total += count
            if count < _BATCH:
                break
        return total
