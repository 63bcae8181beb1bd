"""Leases that nobody knows of: the database gave them to us in an answer that was lost.

Our heartbeat keeps them alive, so no rescue would ever come for them. After a claim whose answer did not arrive, the
leases in the database are compared with what the runner holds, for as long as the server may still be working on it.
"""

import time
from collections.abc import Callable

from penstock.config import Settings
from penstock.engine.worker.inbox import Held
from penstock.model import Release
from penstock.storage import queue
from penstock.storage.database import Link

_LOOK_SECONDS = 1.0
_MOST = 100_000


class Orphans:
    """Used by discovery between its claims, so no claim of ours is under way while it looks."""

    def __init__(
        self,
        *,
        link: Link,
        worker: int,
        held: Held,
        settings: Settings,
        give_back: Callable[[Release], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._worker = worker
        self._held = held
        self._settings = settings
        self._give_back = give_back
        self._clock = clock
        self._look_until = 0.0
        self._look_at = 0.0
        self._seen: set[tuple[int, int, int]] = set()

    def suspect(self) -> None:
        """The answer to a claim was lost."""
        now = self._clock()
        self._look_until = now + self._settings.command_timeout_seconds + 2 * _LOOK_SECONDS
        self._look_at = now

    async def run_once(self) -> int:
        """Give back what was an orphan in two looks: in one, it may just have been settled. Returns how many."""
        now = self._clock()
        if now > self._look_until or now < self._look_at:
            return 0
        self._look_at = now + _LOOK_SECONDS
        async with self._link.guarded() as connection:
            leases = await queue.leases_of(connection, self._worker, _MOST)
        unknown = {(one.task_id, one.lease, one.stage) for one in leases if one.task_id not in self._held}
        orphans = unknown & self._seen
        self._seen = unknown - orphans
        for task_id, lease, stage in orphans:
            # It never started here, so there is nothing to note in its history.
            self._give_back(Release(task_id=task_id, lease=lease, stage=stage, cause=None))
        return len(orphans)
