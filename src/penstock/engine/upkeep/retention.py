"""Removes finished tasks after their time, then jobs and lanes that hold nothing any more, in small batches that never
hold a lock for long."""

from dataclasses import dataclass
from typing import Any

from penstock.config import Settings
from penstock.engine import preferences
from penstock.storage import (
    audit,
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


_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What admins changed counts from the next run on."""

    settings: Settings
    name: str = "retention"
    every_seconds: float = 60.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        kept = await preferences.read(connection, self.settings)
        ended, dead, audited = (
            None if (days := kept[name].value) is None else days * _DAY_SECONDS
            for name in ("endedItemsDays", "deadLettersDays", "auditDays")
        )
        assert ended is not None  # the environment always says how long
        assert dead is not None
        expired = await self._expire_tasks(connection, ended, dead)
        return {
            "tasks": expired,
            "jobs": await jobs.expire(connection, ended),
            "lanes": await lanes.expire(connection, max(ended, dead), _BATCH),
            "dead_messages": await dead_messages.expire(connection, dead, _BATCH),
            "statistics": await counts.expire_statistics(connection, ended)
            + await statistics.expire_details(connection),
            "workers": await workers.forget(connection, _WORKER_ROWS_KEPT_SECONDS),
            "sessions": await sessions.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
            "login_links": await login_links.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
            "selections": await selections.forget(connection, ended, _BATCH),
            "audit": 0 if audited is None else await self._forget_audit(connection, audited),
        }

    async def _expire_tasks(self, connection: Any, ended: float, dead: float) -> int:
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await outcomes.expire(connection, ended, dead, _BATCH)
            total += count
            if count < _BATCH:
                break
        return total

    async def _forget_audit(self, connection: Any, kept_seconds: float) -> int:
        total = 0
        for _ in range(_BATCHES_PER_RUN):
            count = await audit.forget(connection, kept_seconds, _BATCH)
            total += count
            if count < _BATCH:
                break
        return total
