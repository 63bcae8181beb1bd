"""Renews the leases of the runners of one supervisor, and brings back who was asked to stop.

Runs on its own connection, in the supervisor process or in a side thread, so that no handler can hold it up.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.config import Settings
from penstock.failpoints import Failpoints
from penstock.storage import queue, workers
from penstock.storage.database import Link
from penstock.storage.workers import Heartbeat

# The last moment to stop is this share of the lease before its end, counted from when the heartbeat was sent.
_MARGIN = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Who is still a worker, and which (task, lease, worker) should stop, or should not begin."""

    alive: frozenset[int]
    stop: tuple[tuple[int, int, int], ...]
    wait: tuple[tuple[int, int, int], ...]


class Heart:
    """``safe_until`` is local and monotonic: up to then the leases certainly hold, whatever the network does."""

    def __init__(self, *, link: Link, settings: Settings, failpoints: Failpoints) -> None:
        self._link = link
        self._settings = settings
        self._failpoints = failpoints
        self.safe_until = self._after(time.monotonic())

    def _after(self, sent_at: float) -> float:
        return sent_at + self._settings.lease_seconds * (1 - _MARGIN)

    def registered(self, sent_at: float) -> None:
        """A fresh worker has a fresh lease."""
        self.safe_until = self._after(sent_at)

    async def run_once(self, beats: Sequence[Heartbeat]) -> Answer:
        self._failpoints.hit("before_heartbeat", self._link.drop)
        sent_at = time.monotonic()
        async with self._link.guarded() as connection:
            alive = await workers.heartbeat(connection, beats, self._settings.lease_seconds)
            stop = await queue.asked_to_stop(connection, sorted(alive)) if alive else []
            wait = await queue.asked_to_wait(connection, sorted(alive)) if alive else []
        if alive:
            self.safe_until = self._after(sent_at)
        return Answer(alive=frozenset(alive), stop=tuple(stop), wait=tuple(wait))

    def drop(self) -> None:
        """After an answer that did not come in time: the next beat takes a new connection."""
        self._link.drop()

    async def close(self) -> None:
        await self._link.close()
