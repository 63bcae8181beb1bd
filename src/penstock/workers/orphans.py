"""Leases that nobody knows of: the database gave them to us in an answer that was lost.

Our heartbeat keeps them alive, so no rescue would ever come for them. After a claim whose answer did not arrive, the
leases in the database are compared with what the runner holds, for as long as the server may still be working on it.
"""

import time
from dataclasses import dataclass, field

from penstock.config import Settings
from penstock.core.settle import Settler
from penstock.model import Release
from penstock.storage import queue
from penstock.storage.database import Link
from penstock.workers.inbox import Held

_LOOK_SECONDS = 1.0
_MOST = 100_000


@dataclass(slots=True, kw_only=True, eq=False)
class Orphans:
    """Used by discovery between its claims, so no claim of ours is under way while it looks."""

    link: Link
    worker: int
    held: Held
    settings: Settings
    settler: Settler
    _look_until: float = 0.0
    _look_at: float = 0.0
    _seen: set[tuple[int, int, int]] = field(default_factory=set)

    def suspect(self) -> None:
        """The answer to a claim was lost."""
        now = time.monotonic()
        self._look_until = now + self.settings.command_timeout_seconds + 2 * _LOOK_SECONDS
        self._look_at = now

    async def run_once(self) -> int:
        """Give back what was an orphan in two looks: in one, it may just have been settled. Returns how many."""
        now = time.monotonic()
        if now > self._look_until or now < self._look_at:
            return 0
        self._look_at = now + _LOOK_SECONDS
        async with self.link.guarded() as connection:
            leases = await queue.leases_of(connection, self.worker, _MOST)
        unknown = {one[:3] for one in leases if one.task_id not in self.held}
        orphans = unknown & self._seen
        self._seen = unknown - orphans
        for orphan in orphans:
            # It never started here, so there is nothing to note in its history.
            self.settler.add(Release(*orphan, cause=None))
        return len(orphans)
