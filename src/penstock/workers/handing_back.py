"""Gives back leases that nothing came of: what was cancelled or paused, what a runner that stops holds, and what waits
while a task runs alone.

The last is for the others: a runner that may start nothing must not keep what an idle one could start now. A moment
later only, as most suspects ran beside the guilty one and end at once: giving back a full inbox costs more than that.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.model import Claimed, Release
from penstock.storage import tasks
from penstock.storage.database import PASSING
from penstock.workers.inbox import Refusal

if TYPE_CHECKING:
    from penstock.workers.runner import Runner

_PATIENCE_SECONDS = 0.2
_STORED_SECONDS = 1.0


class HandingBack:
    def __init__(self, runner: "Runner") -> None:
        self._runner = runner

    def withdrawn(self, leases: Mapping[int, int]) -> None:
        """Of these tasks (task → lease), those that have not begun."""
        if not leases:
            return
        waiting = [
            claimed
            for inbox in self._runner.inboxes.values()
            for claimed in inbox.withdraw(lambda one: leases.get(one.task_id) == one.lease)
        ]
        if (suspect := self._runner.coordinator.suspect) is not None and leases.get(suspect.task_id) == suspect.lease:
            self._runner.coordinator.withdraw_suspect()
            self.others_may_start()
            waiting.append(suspect)
        self._release(waiting)

    def waiting(self) -> None:
        """Everything that has not begun: the runner stops."""
        self._release(claimed for inbox in self._runner.inboxes.values() for claimed in inbox.drain())
        if (suspect := self._runner.coordinator.withdraw_suspect()) is not None:
            self._release([suspect])

    def stubborn(self) -> None:
        """Handlers in threads cannot be interrupted; their tasks are handed back, their late end will be stale."""
        for _, processor in self._runner.busy():
            claimed = processor.claimed
            assert claimed is not None
            self._runner.settler.add(Release(*claimed.leased, cause="hand back"))

    def refused(self, claimed: Claimed, why: Refusal) -> None:
        """Give the new lease back: an older one of ours is on its way to be settled, or there is no room."""
        self._runner.settler.add(
            Release(*claimed.leased, cause=None, delay_seconds=None if why is Refusal.FULL else 0.2)
        )

    def others_may_start(self) -> None:
        """Nothing keeps them from it any more."""
        if self._runner.messages is not None:
            self._runner.messages.resume()
        self._runner.discovery.room_freed()

    async def run(self) -> None:
        while True:
            await self._runner.coordinator.held_up.wait()
            self._runner.coordinator.held_up.clear()
            await asyncio.sleep(_PATIENCE_SECONDS)
            if self._runner.coordinator.alone is not None:
                await self.run_once()

    async def run_once(self) -> int:
        """What could run beside others goes to others; returns how many tasks were given back. Further suspects stay:
        each would keep another runner from its work."""
        if self._runner.messages is not None:
            self._runner.messages.rest()
        given_back = [
            claimed
            for inbox in self._runner.inboxes.values()
            for claimed in inbox.withdraw(lambda one: not self._runner.coordinator.suspects(one))
        ]
        if not given_back:
            return 0
        self._release(given_back)
        with suppress(*PASSING):  # others find them with their next look
            with suppress(TimeoutError):
                async with asyncio.timeout(_STORED_SECONDS):
                    await self._runner.settler.drained()
            async with self._runner.facilities.pool.acquire() as connection:
                await tasks.wake(connection, "")
        return len(given_back)

    def _release(self, waiting: Iterable[Claimed]) -> None:
        for claimed in waiting:
            # Never started, so there is nothing to note in its history.
            self._runner.settler.add(Release(*claimed.leased, cause=None))
