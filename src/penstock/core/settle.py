"""Writes endings in batches.

A flush starts as soon as the one before is done: batches are small when the worker is idle and large under load.
A batch is kept until the database has taken it or said that its leases are not current any more.

Whoever settles (the settler, a transaction of a handler, burial, rescue) tells here what became of the tasks, as the
database answered it: so logs, counters and outside listeners hear of every ending once and of no ending that was
refused.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg

from penstock.config import Settings
from penstock.core.outage import LinkWatch
from penstock.core.payload import clean_text, encode
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.lifecycle import VERSION_SKEW, State
from penstock.model import Advance, Claimed, Finish, Release, Settlement
from penstock.storage import queue
from penstock.storage.database import LOST, Link, passing

_BATCH_ROWS = 1000
_BATCH_BYTES = 8 * 1024 * 1024
_PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_TRIES = 3
_PARK_SECONDS = 1.0

Kind = TypeVar("Kind", Finish, Advance, Release)
# Ends and ways back that somebody asked for: nothing failed.
_PLANNED = frozenset({"NOT_FOUND", "SKIPPED", "CANCELLED", "snooze", "not_found", VERSION_SKEW})
_Ended = tuple[int, State, int]  # stage, state, task


@dataclass(slots=True, kw_only=True, eq=False)
class Settler:
    """Owns one connection."""

    link: Link
    worker: int
    settings: Settings
    events: Events
    failpoints: Failpoints
    stale: int = 0
    _watch: LinkWatch = field(init=False)
    _waiting: list[Settlement] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    # Put aside by the flush under way: not settled yet.
    _parked: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._watch = LinkWatch(self.events, "settle")
        self._idle.set()

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
        self.failpoints.hit("before_settle", self.link.drop)
        async with self.link.guarded() as connection:
            current = await queue.finish(connection, self.worker, batch)
            self.failpoints.hit("after_settle_commit", self.link.drop)
            stale: list[Finish] = []
            if current < len(batch):
                ours = await queue.settled_before(connection, batch)
                stale = [one for one in batch if one.task_id not in ours]
        self._tell_stale(stale)
        gone = frozenset(one.task_id for one in stale)
        tell_finished(self.events, batch if not gone else [one for one in batch if one.task_id not in gone])

    async def _advance(self, batch: list[Advance], repeated: bool) -> None:
        self.failpoints.hit("before_settle", self.link.drop)
        async with self.link.guarded() as connection:
            current = await queue.advance(connection, self.worker, batch)
            self.failpoints.hit("after_settle_commit", self.link.drop)
        # After a lost answer the rows may have moved already, which is what was wanted.
        if len(current) < len(batch) and not repeated:
            self._tell_stale([one for one in batch if one.task_id not in current])
        tell_advanced(self.events, batch, current)

    async def _release(self, batch: list[Release], repeated: bool) -> None:
        self.failpoints.hit("before_settle", self.link.drop)
        async with self.link.guarded() as connection:
            current = await queue.release(
                connection,
                self.worker,
                batch,
                crash_limit=self.settings.crash_limit,
                rescue_limit=self.settings.rescue_limit,
            )
            self.failpoints.hit("after_settle_commit", self.link.drop)
        if len(current) < len(batch) and not repeated:
            self._tell_stale([one for one in batch if one.task_id not in current])
        tell_released(self.events, batch, current)

    def _tell_stale(self, refused: Sequence[Settlement]) -> None:
        if refused:
            self.stale += len(refused)
            tell_stale(self.events, refused)


def _refused(settlement: Settlement, error: Exception) -> Finish:
    """A settlement the server will not store ends its task with the reason instead."""
    text = {
        "class": "permanent",
        "type": type(error).__name__,
        "message": clean_text(f"the result could not be stored: {error}", 4000),
    }
    described = encode(text, what="error", limit_bytes=64 * 1024)
    return Finish(settlement.task_id, settlement.lease, settlement.stage, State.ERROR, None, described)


def tell_finished(events: Events, ended: Iterable[Finish]) -> None:
    _tell(events, ((one.stage, one.status, one.task_id) for one in ended))


def tell_advanced(events: Events, batch: Sequence[Advance], answer: Mapping[int, bool]) -> None:
    """``answer``: task → whether it ended because somebody had cancelled it."""
    by_stage: dict[int, list[int]] = {}
    for one in batch:
        if answer.get(one.task_id) is False:
            by_stage.setdefault(one.stage, []).append(one.task_id)
    for stage, task_ids in by_stage.items():
        events.emit("tasks.advanced", stage=stage, count=len(task_ids), tasks=task_ids)
    _tell(events, ((one.stage, State.CANCELLED, one.task_id) for one in batch if answer.get(one.task_id)))


def tell_released(events: Events, batch: Sequence[Release], answer: Mapping[int, int]) -> None:
    """``answer``: task → the state it ended in, 0 where it waits again."""
    waiting: dict[tuple[int, str | None], list[int]] = {}
    for one in batch:
        if answer.get(one.task_id) == State.PENDING:
            waiting.setdefault((one.stage, one.cause), []).append(one.task_id)
    for (stage, cause), task_ids in waiting.items():
        events.emit("tasks.released", stage=stage, cause=cause, count=len(task_ids), tasks=task_ids)
    _tell(events, ((one.stage, State(answer[one.task_id]), one.task_id) for one in batch if answer.get(one.task_id)))


def tell_stale(events: Events, refused: Iterable[Settlement]) -> None:
    """Settlements whose lease was not the current one any more."""
    for stage, task_ids in _by_stage(refused).items():
        events.emit("tasks.stale", stage=stage, count=len(task_ids), tasks=task_ids)


def tell_crashed(events: Events, released: Iterable[Release], *, worker: int) -> None:
    for stage, task_ids in _by_stage(released).items():
        events.emit("tasks.crashed", stage=stage, worker=worker, count=len(task_ids), tasks=task_ids)


def tell_rescued(events: Events, released: Iterable[Release], *, worker: int) -> None:
    for stage, task_ids in _by_stage(released).items():
        events.emit("tasks.rescued", stage=stage, worker=worker, count=len(task_ids), tasks=task_ids)


def _by_stage(settlements: Iterable[Settlement]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for one in settlements:
        found.setdefault(one.stage, []).append(one.task_id)
    return found


def _tell(events: Events, ended: Iterable[_Ended]) -> None:
    by_end: dict[tuple[int, State], list[int]] = {}
    for stage, state, task_id in ended:
        by_end.setdefault((stage, state), []).append(task_id)
    for (stage, state), task_ids in by_end.items():
        events.emit("tasks.finished", stage=stage, state=State(state).name, count=len(task_ids), tasks=task_ids)


def tell_failed(events: Events, claimed: Claimed, settlement: Settlement, label: str) -> bool:
    """A run that failed, and whether that is an error of the stage. The reason that a handler gives for an ending it
    planned is no failure."""
    if not isinstance(settlement, Finish | Release) or settlement.error is None:
        return False
    then = settlement.status.name if isinstance(settlement, Finish) else settlement.cause
    if then in _PLANNED:
        return False
    events.emit(
        "tasks.failed",
        task=claimed.task_id,
        stage=label,
        attempt=claimed.attempt + 1,
        max_attempts=claimed.max_attempts,
        then=then,
        error=settlement.error,
    )
    return isinstance(settlement, Finish) or settlement.burned
