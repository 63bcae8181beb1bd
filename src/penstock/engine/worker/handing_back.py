"""Gives back leases that nothing came of: what was cancelled or paused, what a runner that stops holds, and what waits
while a task runs alone.

The last is for the others: a runner that may start nothing must not keep what an idle one could start now. A moment
later only, as most suspects ran beside the guilty one and end at once: giving back a full inbox costs more than that.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress

from penstock.engine.settle import Settler
from penstock.engine.worker.coordinator import Coordinator
from penstock.engine.worker.inbox import Inbox, Refusal
from penstock.engine.worker.pool import Pool
from penstock.model import Claimed, Release
from penstock.storage.database import passing

_PATIENCE_SECONDS = 0.2
_STORED_SECONDS = 1.0


class HandingBack:
    """Of one runner. ``pools`` may be filled later."""

    def __init__(
        self,
        *,
        inboxes: Mapping[int, Inbox],
        pools: Mapping[int, Pool],
        coordinator: Coordinator,
        settler: Settler,
        rest: Callable[[], None],
        tell_others: Callable[[], Awaitable[None]],
    ) -> None:
        """``rest``: messages that were received and not claimed go back to their brokers. ``tell_others``: there is
        work that other runners could start."""
        self._inboxes = inboxes
        self._pools = pools
        self._coordinator = coordinator
        self._settler = settler
        self._rest = rest
        self._tell_others = tell_others
        self._looked_for = asyncio.Event()

    def withdrawn(self, leases: Mapping[int, int]) -> None:
        """Of these tasks (task → lease), those that have not begun."""
        if not leases:
            return
        waiting = [claimed for inbox in self._inboxes.values() for claimed in inbox.withdraw(leases)]
        if (suspect := self._coordinator.suspect) is not None and leases.get(suspect.task_id) == suspect.lease:
            self._coordinator.withdraw_suspect()
            waiting.append(suspect)
        self._release(waiting)

    def waiting(self) -> None:
        """Everything that has not begun: the runner stops."""
        self._release(claimed for inbox in self._inboxes.values() for claimed in inbox.drain())
        if (suspect := self._coordinator.withdraw_suspect()) is not None:
            self._release([suspect])

    def stubborn(self) -> None:
        """Handlers in threads cannot be interrupted; their tasks are handed back, their late end will be stale."""
        for pool in self._pools.values():
            for processor in pool.busy:
                claimed = processor.claimed
                assert claimed is not None
                self._settler.add(
                    Release(task_id=claimed.task_id, lease=claimed.lease, stage=claimed.stage, cause="hand back")
                )

    def refused(self, claimed: Claimed, why: Refusal) -> None:
        """Give the new lease back: an older one of ours is on its way to be settled, or there is no room."""
        self._settler.add(
            Release(
                task_id=claimed.task_id,
                lease=claimed.lease,
                stage=claimed.stage,
                cause=None,
                delay_seconds=None if why is Refusal.FULL else 0.2,
            )
        )

    def look(self) -> None:
        """A task keeps the others from starting, or more came in while it does."""
        self._looked_for.set()

    async def run(self) -> None:
        while True:
            await self._looked_for.wait()
            self._looked_for.clear()
            await asyncio.sleep(_PATIENCE_SECONDS)
            if self._coordinator.alone is not None:
                await self.run_once()

    async def run_once(self) -> int:
        """What could run beside others goes to others; returns how many tasks were given back. Further suspects stay:
        each would keep another runner from its work."""
        self._rest()
        given_back = [
            claimed
            for inbox in self._inboxes.values()
            for claimed in inbox.withdraw_where(lambda one: not self._coordinator.suspects(one))
        ]
        if not given_back:
            return 0
        self._release(given_back)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STORED_SECONDS):
                    await self._settler.drained()
            await self._tell_others()
        except Exception as error:
            if not passing(error):  # others find them with their next look
                raise
        return len(given_back)

    def _release(self, waiting: Iterable[Claimed]) -> None:
        for claimed in waiting:
            # Never started, so there is nothing to note in its history.
            self._settler.add(Release(task_id=claimed.task_id, lease=claimed.lease, stage=claimed.stage, cause=None))
