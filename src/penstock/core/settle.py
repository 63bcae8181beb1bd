"""Writes endings in batches.

A flush starts as soon as the one before is done: batches are small when the worker is idle and large under load.
A batch is kept until the database has taken it or said that its leases are not current any more.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import asyncpg

from penstock.config import Settings
from penstock.core.link_watch import LinkWatch
from penstock.core.payload import clean_text, encode
from penstock.core.report import tell_advanced, tell_finished, tell_released, tell_stale
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.lifecycle import State
from penstock.model import Advance, Finish, Release, Settlement
from penstock.storage import queue
from penstock.storage.database import LOST, Link, passing

_BATCH_ROWS = 1000
_BATCH_BYTES = 8 * 1024 * 1024
_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_TRIES = 3
_PARK_SECONDS = 1.0

Kind = TypeVar("Kind", Finish, Advance, Release)


class Settler:
    """Owns one connection."""

    def __init__(
        self,
        *,
        link: Link,
        worker: int,
        settings: Settings,
        events: Events,
        failpoints: Failpoints,
    ) -> None:
        self._link = link
        self._worker = worker
        self._settings = settings
        self._events = events
        self._watch = LinkWatch(events, "settle")
        self._failpoints = failpoints
        self._waiting: list[Settlement] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.stale = 0
        # Put aside by the flush under way: not settled yet.
        self._parked: set[int] = set()

    def add(self, settlement: Settlement) -> None:
        self._waiting.append(settlement)
        if not self._wake.is_set():
            self._idle.clear()
            self._wake.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def run(self, settled: Callable[[Sequence[int]], None]) -> None:
        """``settled``: told which tasks have left this runner."""
        while True:
            await self._wake.wait()
            while self._waiting:
                # Processors that are ready now end a few tasks more: one commit for all of them.
                await asyncio.sleep(0)
                settled(await self.run_once())
            self._wake.clear()
            self._idle.set()

    async def run_once(self) -> list[int]:
        """Flush one batch; returns the tasks that have left this runner."""
        batch = self._take()
        finished = [one for one in batch if type(one) is Finish]
        if len(finished) == len(batch):
            await self._kept(self._finish, finished)
        else:
            await self._kept(self._finish, finished)
            await self._kept(self._advance, [one for one in batch if isinstance(one, Advance)])
            await self._kept(self._release, [one for one in batch if isinstance(one, Release)])
        parked, self._parked = self._parked, set()
        return [one.task_id for one in batch if one.task_id not in parked]

    async def drained(self) -> None:
        """Wait until everything added so far is stored."""
        await self._idle.wait()

    def _take(self) -> list[Settlement]:
        """Up to a batch of rows and bytes, oldest first."""
        waiting = self._waiting
        size = 0
        for count, settlement in enumerate(waiting[:_BATCH_ROWS], start=1):
            if not isinstance(settlement, Release) and settlement.result is not None:
                size += len(settlement.result)
                if size > _BATCH_BYTES:
                    batch, self._waiting = waiting[:count], waiting[count:]
                    return batch
        batch, self._waiting = waiting[:_BATCH_ROWS], waiting[_BATCH_ROWS:]
        return batch

    async def _kept(
        self,
        write: Callable[[list[Kind], bool], Coroutine[Any, Any, None]],
        batch: list[Kind],
        repeated: bool = False,
    ) -> None:
        """Write a batch, again and again while the fault is one that passes."""
        tries = 0
        while batch:
            try:
                await write(batch, repeated)
                self._watch.works()
                return
            except Exception as error:
                waits = isinstance(error, asyncpg.LockNotAvailableError)
                if passing(error) and not waits:
                    self._watch.lost(error)
                    repeated = repeated or isinstance(error, LOST)
                    await self._pause(tries)
                elif len(batch) > 1:
                    # One row the server cannot take now must not hold up the others: halve until it stands alone.
                    middle = len(batch) // 2
                    await self._kept(write, batch[:middle], repeated)
                    batch = batch[middle:]
                    continue
                elif waits:
                    # A transaction somewhere holds its unique key: come back to it.
                    self._park(batch[0])
                    return
                elif tries >= _TRIES:
                    await self._refuse(batch[0], error)
                    return
                else:
                    await self._pause(tries)  # another task took the unique key in between, say: look again
                tries += 1

    async def _refuse(self, settlement: Settlement, error: Exception) -> None:
        """A settlement that the server will not store ends its task with the reason instead."""
        if isinstance(settlement, Finish) and settlement.status is State.ERROR and settlement.result is None:
            raise error  # not even the reason can be stored: the runner fails, and its leases are given back
        await self._kept(self._finish, [_refused(settlement, error)])

    def _park(self, settlement: Settlement) -> None:
        self._parked.add(settlement.task_id)
        asyncio.get_running_loop().call_later(_PARK_SECONDS, self.add, settlement)

    async def _pause(self, tries: int) -> None:
        await asyncio.sleep(_PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS) - 1)])

    async def _finish(self, batch: list[Finish], repeated: bool) -> None:
        self._failpoints.hit("before_settle", self._link.drop)
        async with self._link.guarded() as connection:
            current = await queue.finish(connection, self._worker, batch)
            self._failpoints.hit("after_settle_commit", self._link.drop)
            stale: list[Finish] = []
            if current < len(batch):
                ours = await queue.settled_before(connection, batch)
                stale = [one for one in batch if one.task_id not in ours]
        self._tell_stale(stale)
        gone = frozenset(one.task_id for one in stale)
        tell_finished(self._events, batch if not gone else [one for one in batch if one.task_id not in gone])

    async def _advance(self, batch: list[Advance], repeated: bool) -> None:
        self._failpoints.hit("before_settle", self._link.drop)
        async with self._link.guarded() as connection:
            current = await queue.advance(connection, self._worker, batch)
            self._failpoints.hit("after_settle_commit", self._link.drop)
        # After a lost answer the rows may have moved already, which is what was wanted.
        if len(current) < len(batch) and not repeated:
            self._tell_stale([one for one in batch if one.task_id not in current])
        tell_advanced(self._events, batch, current)

    async def _release(self, batch: list[Release], repeated: bool) -> None:
        self._failpoints.hit("before_settle", self._link.drop)
        async with self._link.guarded() as connection:
            current = await queue.release(
                connection,
                self._worker,
                batch,
                crash_limit=self._settings.crash_limit,
                rescue_limit=self._settings.rescue_limit,
            )
            self._failpoints.hit("after_settle_commit", self._link.drop)
        if len(current) < len(batch) and not repeated:
            self._tell_stale([one for one in batch if one.task_id not in current])
        tell_released(self._events, batch, current)

    def _tell_stale(self, refused: Sequence[Settlement]) -> None:
        if refused:
            self.stale += len(refused)
            tell_stale(self._events, refused)


def _refused(settlement: Settlement, error: Exception) -> Finish:
    """A settlement the server will not store ends its task with the reason instead."""
    text = {
        "class": "permanent",
        "type": type(error).__name__,
        "message": clean_text(f"the result could not be stored: {error}", 4000),
    }
    described = encode(text, what="error", limit_bytes=64 * 1024)
    return Finish(settlement.task_id, settlement.lease, settlement.stage, State.ERROR, None, described)
