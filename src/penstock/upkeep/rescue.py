"""Takes tasks back from workers that are gone.

Two steps: a worker whose lease ended is declared dead, which makes its heartbeats fail from then on; then its rows are
given back under its own (task, worker, lease), so a zombie that settles in between still wins or loses cleanly.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncpg

from penstock.core.payload import encode
from penstock.core.report import tell_released, tell_rescued
from penstock.events import Events
from penstock.model import Release
from penstock.storage import queue, workers

_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    events: Events
    crash_limit: int
    rescue_limit: int
    name: str = "rescue"
    every_seconds: float = 1.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        dead = await workers.declare_dead(connection)
        rescued = 0
        for worker in await queue.holders_gone(connection):
            rescued += await self._take_back(connection, worker)
        return {"dead": len(dead), "rescued": rescued}

    async def _take_back(self, connection: Any, worker: int) -> int:
        total = 0
        while True:
            async with connection.transaction():
                leases = await queue.leases_to_rescue(connection, worker, _BATCH)
                releases = [_release(one) for one in leases]
                try:
                    released = await self._give_back(connection, worker, releases)
                except asyncpg.LockNotAvailableError:
                    # Somebody's open transaction holds the unique key of one of them: take the others.
                    released = {}
                    for one in releases:
                        with suppress(asyncpg.LockNotAvailableError):
                            released |= await self._give_back(connection, worker, [one])
            if not released:
                return total
            total += len(released)
            tell_released(self.events, releases, released)
            tell_rescued(self.events, [one for one in releases if one.task_id in released], worker=worker)

    async def _give_back(self, connection: Any, worker: int, releases: list[Release]) -> dict[int, int]:
        if not releases:
            return {}
        async with connection.transaction():
            return await queue.release(
                connection, worker, releases, crash_limit=self.crash_limit, rescue_limit=self.rescue_limit
            )


def _release(held: queue.Lease) -> Release:
    """Nobody saw the worker die: it may as well be cut off, with healthy tasks. So nothing is burned, also where the
    last heartbeat named the task as running. The rescue limit bounds a task that takes whole machines down. One that
    certainly only waited comes back as it was."""
    if held.waited:
        return Release(*held[:3], cause=None)
    ran = "its worker vanished while it ran"
    message = ran if held.ran else "its worker vanished; nobody knows whether it had started"
    return Release(
        *held[:3],
        cause="rescue",
        rescued=True,
        delay_seconds=None,
        error=encode({"class": "crash", "type": "WorkerLost", "message": message}, what="error", limit_bytes=4096),
    )
