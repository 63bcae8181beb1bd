"""The queues in RabbitMQ: their names, how they are made, and how many messages wait in them.

``<queue>.high``, ``.normal`` and ``.low`` are quorum queues. What is rejected in them goes through the exchange
``<prefix>.dead`` to the quorum queue of the same name. ``<queue>.parked`` is made when something is parked.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress

from pamqp import commands
from pamqp.common import FieldValue

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.connection import Link, refusal
from penstock.brokers.transport import MOST_DEAD, PRIORITIES, BrokerAway

_NOT_FOUND, _PRECONDITION_FAILED = 404, 406
_KNOWS_NO_LIMIT = (4, 0)
"""From here on RabbitMQ drops what was delivered 20 times unless told otherwise, and -1 tells it. Before, there was no
limit, and -1 is refused."""
_FORGIVEN = ("'x-delivery-limit'", "'x-max-length'")
"""Made by an older server or an older Penstock, without the argument: it is the queue all the same."""


def part_name(queue: str, urgency: int) -> str:
    return f"{queue}.{PRIORITIES[urgency]}"


def parked_name(queue: str) -> str:
    return f"{queue}.parked"


def queue_of(name: str) -> str:
    """The queue that a part belongs to."""
    queue, _, part = name.rpartition(".")
    return queue if part in (*PRIORITIES, "parked") else name


class Queues:
    """``lost`` counts, for a queue of ours, how often this process found one of its parts missing that it had seen.
    ``unanswered``: how often in a row the broker answered everything but the question for messages of a part."""

    def __init__(self, link: Link, prefix: str, *, most_dead: int = MOST_DEAD) -> None:
        self._most_dead = most_dead
        self.dead_name = f"{prefix}.dead"
        self.lost: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        self._link = link
        self._seen: set[str] = set()
        self._checked: set[str] = set()
        self._asking: Channel | None = None
        self._lock = asyncio.Lock()

    def seen(self, names: Iterable[str]) -> None:
        """They took a message, so they are there."""
        self._seen.update(names)

    async def make(self, names: Collection[str]) -> None:
        """Those that are missing. Raises ``BrokerRefused`` where one is there and of another kind."""
        for name in (self.dead_name, *names):
            await self._make(name)
        self._seen.update(names)
        self._checked.update(names)

    async def ensure(self, name: str, *, missing: bool) -> None:
        """There, and of the right kind. ``missing``: the broker said that it was deleted."""
        if missing or (name in self._seen and await self.waiting(name) is None):
            await self.make_again([name])
        elif name not in self._checked:
            await self.make([name])

    async def make_again(self, names: Collection[str]) -> None:
        """They were found missing. What this process had seen before is lost with what was in it."""
        for queue in {queue_of(name) for name in names if name in self._seen}:
            self.lost[queue] += 1
        await self.make(names)

    async def replace(self, name: str) -> None:
        """For a queue that is known and has no leader. RabbitMQ writes down half a second late which quorum queues it
        has members of; killed before that, it starts with a queue that never elects a leader and answers nobody. Only a
        new one helps. What was in it counts as lost, and is sent again."""
        if await self.waiting(name) is not None:
            self._seen.add(name)
            async with self._channel() as channel:
                await channel.call(commands.Queue.Delete(queue=name), commands.Queue.DeleteOk)
        await self.make_again([name])

    async def waiting(self, name: str) -> int | None:
        """Messages that wait for a consumer; None where there is no such queue."""
        try:
            async with self._channel() as channel:
                question = commands.Queue.Declare(queue=name, passive=True)
                return (await channel.call(question, commands.Queue.DeclareOk)).message_count
        except ClosedByServer as closed:
            if closed.code == _NOT_FOUND:
                return None
            raise refusal(self._link.address, closed) from None

    async def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._seen.discard(name)
            self._checked.discard(name)
            async with self._channel() as channel:
                await channel.call(commands.Queue.Delete(queue=name), commands.Queue.DeleteOk)

    async def _make(self, name: str) -> None:
        version = (await self._link.connection()).server_version
        arguments: dict[str, FieldValue] = {"x-queue-type": "quorum"}
        if name == self.dead_name:
            arguments["x-max-length"] = self._most_dead
        else:
            arguments["x-dead-letter-exchange"] = self.dead_name
        if version >= _KNOWS_NO_LIMIT:
            arguments["x-delivery-limit"] = -1
        question = commands.Queue.Declare(queue=name, durable=True, arguments=arguments)
        try:
            async with self._channel() as channel:
                await channel.call(question, commands.Queue.DeclareOk)
                if name == self.dead_name:
                    await self._bind_dead(channel)
        except ClosedByServer as closed:
            if closed.code == _PRECONDITION_FAILED and any(name in closed.text for name in _FORGIVEN):
                if name == self.dead_name:
                    # The refusal closed the channel before the exchange was bound.
                    async with self._channel() as channel:
                        await self._bind_dead(channel)
                return
            raise refusal(self._link.address, closed) from None

    async def _bind_dead(self, channel: Channel) -> None:
        exchange = commands.Exchange.Declare(exchange=self.dead_name, exchange_type="fanout", durable=True)
        await channel.call(exchange, commands.Exchange.DeclareOk)
        binding = commands.Queue.Bind(queue=self.dead_name, exchange=self.dead_name)
        await channel.call(binding, commands.Queue.BindOk)

    @asynccontextmanager
    async def _channel(self) -> AsyncIterator[Channel]:
        """One question at a time, because an answer of no closes the channel for all."""
        async with self._lock:
            connection = await self._link.connection()
            if self._asking is None or self._asking.problem is not None:
                self._asking = await connection.channel()
            yield self._asking

    async def close(self) -> None:
        if self._asking is not None:
            with suppress(BrokerAway, ClosedByServer):
                await self._asking.close()
