"""Sends many dead messages again: one first and wait for it, then the others, no faster than asked, and stop when they
come back as they were."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from penstock import brokers as transports
from penstock.brokers import dead_messages
from penstock.brokers.dead_messages import MessageFilter, MessageRefused, Places
from penstock.brokers.transport import Transport
from penstock.core.app import App
from penstock.errors import IllegalMove, InvalidSetting
from penstock.storage import dead_messages as table

_PAGE = 200
_LOOK_SECONDS = 0.1
# So many are remembered to see whether they come back.
_WATCHED = 1000
STOP_AFTER = 10

Tell = Callable[[int], None]
Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCanary:
    """``ended``: claimed (a worker took its task or it has ended), dead (it came back), waiting (neither in time)."""

    message_id: int
    task_id: int
    ended: str
    same_reason: bool = False
    reason: str | None = None

    @property
    def passed(self) -> bool:
        return self.ended == "claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReplay:
    """``refused``: message → why it was not sent; they stay open. ``came_back``: dead again with their old reason."""

    replayed: int
    refused: dict[int, str]
    canary: MessageCanary | None = None
    came_back: int = 0
    stopped: bool = False


async def replay_matching(
    app: App,
    wanted: MessageFilter,
    *,
    by: str,
    canary: bool = False,
    canary_seconds: float = 60.0,
    per_second: float | None = None,
    stop_after: int | None = None,
    most: int | None = None,
    tell: Tell = lambda replayed: None,
    pause: Pause = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> MessageReplay:
    """All that are open and match, newest first. One that cannot be read stays where it is, with its clause.

    ``stop_after``: so many that came back dead with the reason they had end it; by default 10 where there is a canary.
    """
    if per_second is not None and not 0 < per_second <= 1_000_000:
        raise InvalidSetting("rate", per_second, "use a number of messages per second above 0")
    async with app.connection() as connection:
        since = await table.now(connection)
    limit = stop_after or (STOP_AFTER if canary else None)
    replay = _Replay(app=app, by=by, since=since, limit=limit, pause=pause, clock=clock)
    stopped = False
    begun = clock()
    try:
        known = await dead_messages.places(app)
        async for row in _matching(app, replace(wanted, open=True)):
            if most is not None and replay.replayed >= most:
                break
            if not await replay.send(known, row):
                continue
            tell(replay.replayed)
            if canary and replay.canary is None:
                replay.canary = await replay.wait_for(row, canary_seconds)
                begun = clock()
            if stopped := await replay.is_enough():
                break
            if per_second is not None:
                await pause(max(begun + replay.replayed / per_second - clock(), 0.0))
    finally:
        await replay.close()
        if replay.ids:
            app.events.emit("messages.replayed", count=replay.replayed, messages=replay.ids, by=by)
    return MessageReplay(
        replayed=replay.replayed,
        refused=replay.refused,
        canary=replay.canary,
        came_back=replay.came_back,
        stopped=stopped,
    )


@dataclass(slots=True, kw_only=True)
class _Replay:
    """What one replay has done so far. ``ids``: the first of them, for the audit log. ``opened``: a connection to each
    broker for all of them."""

    app: App
    by: str
    since: datetime
    limit: int | None
    pause: Pause
    clock: Callable[[], float]
    replayed: int = 0
    came_back: int = 0
    ids: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    canary: MessageCanary | None = None
    sent: list[tuple[bytes, str]] = field(default_factory=list)
    opened: dict[str, Transport] = field(default_factory=dict)

    async def send(self, known: Places, row: dict[str, Any]) -> bool:
        """False: it was refused, or somebody else was quicker."""
        try:
            transport = await self._transport(row["transport"])
            envelope = await dead_messages.send(self.app, known, row["id"], by=self.by, transport=transport)
        except MessageRefused as refused:
            self.refused[row["id"]] = refused.clause
            return False
        except (IllegalMove, dead_messages.MessageNotFound):
            return False
        row["task_id"] = envelope.task_id
        self.replayed += 1
        if len(self.ids) < _WATCHED:
            self.ids.append(row["id"])
        self.sent = [*self.sent[-_WATCHED:], (row["digest"], row["reason"])]
        return True

    async def wait_for(self, row: dict[str, Any], seconds: float) -> MessageCanary:
        """Until a worker has its task, or it is dead again. The relay collects what is dead every few seconds."""
        until = self.clock() + seconds
        ended = partial(MessageCanary, message_id=row["id"], task_id=row["task_id"])
        while True:
            async with self.app.connection() as connection:
                sent = [(row["digest"], row["reason"])]
                back = await table.back(connection, sent, since=self.since, any_reason=True)
                standing = await table.standing(connection, row["task_id"])
            if back:
                reason = back[0].reason
                return ended(ended="dead", same_reason=reason == row["reason"], reason=reason)
            if standing:
                return ended(ended="claimed")
            if self.clock() >= until:
                return ended(ended="waiting")
            await self.pause(_LOOK_SECONDS)

    async def is_enough(self) -> bool:
        if self.canary is not None and not self.canary.passed:
            return True
        if self.limit is None:
            return False
        async with self.app.connection() as connection:
            self.came_back = len(await table.back(connection, self.sent, since=self.since))
        return self.came_back >= self.limit

    async def close(self) -> None:
        for transport in self.opened.values():
            await transport.close()

    async def _transport(self, name: str) -> Transport | None:
        """None of a broker that no stage uses: nothing is sent there."""
        if name not in self.opened and name in self.app.settings.brokers:
            self.opened[name] = await transports.opened(name, self.app.settings)
        return self.opened.get(name)


async def _matching(app: App, wanted: MessageFilter) -> AsyncIterator[dict[str, Any]]:
    """Newest first: what dies again meanwhile has a higher number, or one that was passed, and is not seen again."""
    place: int | None = None
    while True:
        found = await dead_messages.page(app, wanted, after=place, limit=_PAGE)
        for row in found.rows:
            async with app.connection() as connection:
                whole = await table.get(connection, row["id"])
            if whole is not None:
                yield whole
        if (place := found.next) is None:
            return
