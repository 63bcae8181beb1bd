"""Sends many dead messages again: one first and wait for it, then the others, no faster than asked, and stop when they
come back as they were."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock import transports
from penstock.engine.steering import dead_messages
from penstock.engine.steering.dead_messages import MessageFilter, MessageRefused, Places
from penstock.errors import IllegalMove, InvalidSetting
from penstock.storage import dead_messages as table
from penstock.transport import Transport

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

_PAGE = 200
_LOOK_SECONDS = 0.1
# So many are remembered to see whether they come back.
_WATCHED = 1000
STOP_AFTER = 10

Tell = Callable[[int], None]
Pause = Callable[[float], Awaitable[None]]
_TransportOf = Callable[[str], Awaitable[Transport | None]]


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


@dataclass(slots=True)
class _Round:
    """What one replay has done so far."""

    since: datetime
    begun: float
    replayed: int = 0
    came_back: int = 0
    # The first of them, for the audit log.
    ids: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    canary: MessageCanary | None = None
    sent: list[tuple[bytes, str]] = field(default_factory=list)


async def replay_matching(
    app: "Penstock",
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
    limit = stop_after or (STOP_AFTER if canary else None)
    async with app.connection() as connection:
        done = _Round(since=await table.now(connection), begun=clock())
    try:
        async with _opened(app) as transport_of:
            stopped = await _send_matching(
                app,
                replace(wanted, open=True),
                done,
                by=by,
                canary_seconds=canary_seconds if canary else None,
                per_second=per_second,
                limit=limit,
                most=most,
                tell=tell,
                pause=pause,
                clock=clock,
                transport_of=transport_of,
            )
    finally:
        if done.ids:
            app.events.emit("messages.replayed", count=done.replayed, messages=done.ids, by=by)
    return MessageReplay(
        replayed=done.replayed, refused=done.refused, canary=done.canary, came_back=done.came_back, stopped=stopped
    )


async def _send_matching(
    app: "Penstock",
    wanted: MessageFilter,
    done: _Round,
    *,
    by: str,
    canary_seconds: float | None,
    per_second: float | None,
    limit: int | None,
    most: int | None,
    tell: Tell,
    pause: Pause,
    clock: Callable[[], float],
    transport_of: "_TransportOf",
) -> bool:
    """Whether it was stopped before the end."""
    known = await dead_messages.places(app)
    async for row in _matching(app, wanted):
        if most is not None and done.replayed >= most:
            break
        if not await _one(app, known, row, done, by, transport_of):
            continue
        tell(done.replayed)
        if canary_seconds is not None and done.canary is None:
            done.canary = await _wait_for(app, row, done, canary_seconds, pause, clock)
            done.begun = clock()
        if await _is_enough(app, done, limit):
            return True
        if per_second is not None:
            await pause(max(done.begun + done.replayed / per_second - clock(), 0.0))
    return False


async def _one(
    app: "Penstock", known: Places, row: dict[str, Any], done: _Round, by: str, transport_of: "_TransportOf"
) -> bool:
    try:
        transport = await transport_of(row["transport"])
        envelope = await dead_messages.send(app, known, row["id"], by=by, transport=transport)
    except MessageRefused as refused:
        done.refused[row["id"]] = refused.clause
        return False
    except (IllegalMove, dead_messages.MessageNotFound):
        return False  # somebody else was quicker
    row["task_id"] = envelope.task_id
    done.replayed += 1
    if len(done.ids) < _WATCHED:
        done.ids.append(row["id"])
    done.sent = [*done.sent[-_WATCHED:], (row["digest"], row["reason"])]
    return True


async def _matching(app: "Penstock", wanted: MessageFilter) -> AsyncIterator[dict[str, Any]]:
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


async def _wait_for(
    app: "Penstock", row: dict[str, Any], done: _Round, seconds: float, pause: Pause, clock: Callable[[], float]
) -> MessageCanary:
    """Until a worker has its task, or it is dead again. The relay collects what is dead every few seconds."""
    message_id, task_id, until = row["id"], row["task_id"], clock() + seconds
    while True:
        async with app.connection() as connection:
            back = await table.back(connection, [(row["digest"], row["reason"])], since=done.since, any_reason=True)
            standing = await table.standing(connection, task_id)
        if back:
            reason = back[0].reason
            same = reason == row["reason"]
            return MessageCanary(message_id=message_id, task_id=task_id, ended="dead", same_reason=same, reason=reason)
        if standing:
            return MessageCanary(message_id=message_id, task_id=task_id, ended="claimed")
        if clock() >= until:
            return MessageCanary(message_id=message_id, task_id=task_id, ended="waiting")
        await pause(_LOOK_SECONDS)


async def _is_enough(app: "Penstock", done: _Round, limit: int | None) -> bool:
    if done.canary is not None and not done.canary.passed:
        return True
    if limit is None:
        return False
    async with app.connection() as connection:
        done.came_back = len(await table.back(connection, done.sent, since=done.since))
    return done.came_back >= limit


@asynccontextmanager
async def _opened(app: "Penstock") -> AsyncIterator[_TransportOf]:
    """One connection to each broker for all of them. None of one that no stage uses: nothing is sent there."""
    made: dict[str, Transport] = {}

    async def of(name: str) -> Transport | None:
        if name not in made and name in app.settings.brokers:
            made[name] = await transports.opened(name, app.settings)
        return made.get(name)

    try:
        yield of
    finally:
        for transport in made.values():
            await transport.close()
