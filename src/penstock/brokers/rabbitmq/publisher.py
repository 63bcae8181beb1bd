"""Publishing with confirms: a batch goes out in few writes, and counts when the broker has confirmed all of it."""

import asyncio
from collections.abc import Sequence

from pamqp import commands

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.connection import Connection, Link, refusal
from penstock.brokers.rabbitmq.frames import Content, Sent, publish_writes
from penstock.brokers.rabbitmq.queues import Queues

CONFIRM_SECONDS = 15.0
BLOCKED_SECONDS = 3.0
_ATTEMPTS = 3
# A quorum queue refuses while it has no leader, which under load takes a moment after it was made.
_AGAIN_SECONDS = 0.2


class Confirms:
    """What the broker has confirmed of a batch that was published. Tags count up from 1 on a
    channel, and a batch has the channel to itself."""

    __slots__ = ("_above", "_front", "_last", "refused")

    def __init__(self) -> None:
        self._front = self._last = 0
        self._above: set[int] = set()
        self.refused = 0

    def expect(self, count: int) -> None:
        self._last += count
        self.refused = 0

    def take(self, tag: int, *, multiple: bool, taken: bool) -> None:
        if not taken:
            self.refused += 1
        if multiple:
            self._front = max(self._front, tag or self._last)
        else:
            self._above.add(tag)
        if self._above:
            self._above = {one for one in self._above if one > self._front} if multiple else self._above
            while self._front + 1 in self._above:
                self._front += 1
                self._above.discard(self._front)

    @property
    def complete(self) -> bool:
        return self._front >= self._last


class Publisher:
    """On a connection of its own: a broker with an alarm stops reading from connections that publish, and the
    acknowledgements of consumers should still reach it."""

    def __init__(self, link: Link, queues: Queues) -> None:
        self._link = link
        self._queues = queues
        self._idle: list[_Batch] = []

    async def publish(self, messages: Sequence[Sent]) -> None:
        """Raises ``BrokerAway`` on any doubt. What no queue took is sent again once the queue is made; a batch of which
        something was refused goes out again as a whole, because a message twice costs nothing."""
        waiting = list(messages)
        problem = ""
        for attempt in range(1, _ATTEMPTS + 1):
            missing, refused = await self._send(waiting)
            self._queues.seen({one.key for one in waiting} - missing)
            if missing:
                await self._queues.make_again(missing)
                problem = f"the queue {min(missing)} was missing again after it was made"
            if refused:
                problem = f"it did not store {refused} of {len(waiting)} messages"
                if attempt < _ATTEMPTS:
                    await asyncio.sleep(_AGAIN_SECONDS * attempt)
            elif missing:
                waiting = [one for one in waiting if one.key in missing]
            else:
                return
        connection = await self._link.connection()
        raise connection.away(problem)

    async def _send(self, messages: list[Sent]) -> tuple[set[str], int]:
        """The names of queues that are missing, and how many messages were refused."""
        connection = await self._link.connection()
        await _not_blocked(connection)
        batch = await self._batch(connection)
        try:
            await batch.send(connection, messages)
        except ClosedByServer as closed:
            raise refusal(self._link.address, closed) from None
        except BaseException:
            batch.channel.abandon()
            raise
        self._idle.append(batch)
        return batch.missing, batch.refused

    async def _batch(self, connection: Connection) -> "_Batch":
        """Each batch has a channel to itself while it is under way; several may be."""
        while self._idle:
            batch = self._idle.pop()
            if batch.channel.problem is None:
                return batch
        try:
            batch = _Batch(await connection.channel())
            await batch.channel.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        except ClosedByServer as closed:
            raise refusal(self._link.address, closed) from None
        return batch


class _Batch:
    """A channel in confirm mode and what it was told about the batch on it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.missing: set[str] = set()
        self._confirms = Confirms()
        self._changed = asyncio.Event()
        channel.on_confirm = self._confirm
        channel.on_content = self._returned
        channel.on_closed = self._changed.set

    async def send(self, connection: Connection, messages: list[Sent]) -> None:
        self.missing = set()
        self._changed.clear()
        self._confirms.expect(len(messages))
        for data in publish_writes(self.channel.number, messages, connection.frame_max):
            self.channel.send(data)
            await connection.drain()
        await self._confirmed(connection)

    @property
    def refused(self) -> int:
        return self._confirms.refused

    async def _confirmed(self, connection: Connection) -> None:
        """Looks every few seconds whether the broker has an alarm; it says so only after it was sent something."""
        until = asyncio.get_running_loop().time() + CONFIRM_SECONDS
        while not self._confirms.complete:
            if self.channel.problem is not None:
                raise self.channel.problem.with_traceback(None)
            try:
                async with asyncio.timeout(BLOCKED_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                if connection.blocked_because is not None:
                    raise connection.away(connection.blocked_because) from None
                if asyncio.get_running_loop().time() > until:
                    connection.lose(f"a batch was not confirmed within {CONFIRM_SECONDS:g} s")

    def _confirm(self, tag: int, multiple: bool, taken: bool) -> None:
        self._confirms.take(tag, multiple=multiple, taken=taken)
        if self._confirms.complete:
            self._changed.set()

    def _returned(self, content: Content) -> None:
        self.missing.add(content.key)


async def _not_blocked(connection: Connection) -> None:
    """An alarm that lasts is the same as a broker that is away: tasks wait in PostgreSQL meanwhile."""
    until = asyncio.get_running_loop().time() + BLOCKED_SECONDS
    while (because := connection.blocked_because) is not None:
        if asyncio.get_running_loop().time() >= until:
            raise connection.away(because)
        await asyncio.sleep(0.05)
