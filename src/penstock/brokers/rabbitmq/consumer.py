"""Receiving from RabbitMQ: three queues by urgency, one buffer each, handed out strictly the urgent ones first."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from pamqp import commands

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.connection import Connection, Link, refusal
from penstock.brokers.rabbitmq.frames import Sent
from penstock.brokers.rabbitmq.holding import URGENCY_HEADER, Holding
from penstock.brokers.rabbitmq.publisher import Publisher
from penstock.brokers.rabbitmq.queues import Queues, parked_name, part_name
from penstock.brokers.transport import PRIORITIES, BrokerAway, Consumer, Message

QUEUE_HEADER, REASON_HEADER, DELIVERIES_HEADER = "x-penstock-queue", "x-penstock-reason", "x-penstock-deliveries"
DIED_HEADER, KIND_HEADER = "x-penstock-died-at", "x-penstock-kind"
"""The time with microseconds, which the timestamp among the properties has not."""
_MOST_PARKED = 100
_LEADERLESS_AFTER = 2
_DOUBT_SECONDS = 10.0
_LONGEST_REASON = 2000


class RabbitConsumer(Consumer):
    """Nothing runs in the background: ``receive`` mends what broke, a lost connection or a queue that was deleted."""

    def __init__(
        self, *, link: Link, queues: Queues, publisher: Publisher, queue: str, name: str, prefetch: int
    ) -> None:
        self._link = link
        self._queues = queues
        self._publisher = publisher
        self._queue = queue
        self._lost_before = queues.lost[queue]
        self._parts = [
            Holding(
                queue=queue,
                name=part_name(queue, urgency),
                runner=name,
                urgency=urgency,
                prefetch=min(prefetch, 65_535),
            )
            for urgency in range(len(PRIORITIES))
        ]
        self._parked = Holding(queue=queue, name=parked_name(queue), runner=name, urgency=1, prefetch=0)
        self._parked_left: int | None = None
        self._changed = asyncio.Event()
        self._mending = asyncio.Lock()
        self._closed = False

    @property
    def lost_count(self) -> int:
        return self._queues.lost[self._queue] - self._lost_before

    async def receive(self, most: int, wait_seconds: float) -> list[Message]:
        until = asyncio.get_running_loop().time() + wait_seconds
        while True:
            self._changed.clear()
            self._doubt()
            await self.mend()
            if taken := await self._look_at_parked(most) or self._take(most):
                return taken
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return []
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
            self._tell_of_a_loss()

    def _doubt(self) -> None:
        """RabbitMQ 3.10 does not tell a consumer whose queue was deleted and made again at once. What comes to the new
        queue is given to that consumer, and never arrives. So one that is idle for long begins anew."""
        for part in self._parts:
            part.doubt(silent_since=time.monotonic() - _DOUBT_SECONDS, lost_count=self.lost_count)

    def _tell_of_a_loss(self) -> None:
        """At once: making a new connection, which may take seconds, is for the next call."""
        for part in self._parts:
            if part.channel is not None and isinstance(part.channel.problem, BrokerAway):
                raise part.channel.problem.with_traceback(None)

    def _take(self, most: int) -> list[Message]:
        taken: list[Message] = []
        for part in self._parts:
            if len(taken) < most:
                taken += part.take(most - len(taken))
        return taken

    async def acknowledge(self, messages: Sequence[Message]) -> None:
        by_holding: dict[Holding, list[int]] = {}
        for message in messages:
            holding, channel, tag = message.token
            if holding.channel is channel:
                by_holding.setdefault(holding, []).append(tag)
        for holding, tags in by_holding.items():
            holding.acknowledge(tags)

    async def bury(self, message: Message, reason: str, kind: str = "other") -> None:
        now = datetime.now(UTC)
        properties = commands.Basic.Properties(
            delivery_mode=2,
            message_id=str(uuid4()),
            timestamp=now,
            headers={
                QUEUE_HEADER: self._queue,
                DIED_HEADER: now.isoformat(),
                REASON_HEADER: reason[:_LONGEST_REASON],
                KIND_HEADER: kind,
                DELIVERIES_HEADER: message.deliveries,
                URGENCY_HEADER: message.urgency,
            },
        )
        await self._publisher.publish([Sent(self._queues.dead_name, properties.marshal(), message.raw)])
        await self.acknowledge([message])

    async def park(self, message: Message) -> None:
        properties = commands.Basic.Properties(delivery_mode=2, headers={URGENCY_HEADER: message.urgency})
        await self._publisher.publish([Sent(self._parked.name, properties.marshal(), message.raw)])
        await self.acknowledge([message])

    async def resize(self, prefetch: int) -> None:
        for part in self._parts:
            with suppress(BrokerAway, ClosedByServer):  # `receive` mends it, with the new number
                await part.resize(min(prefetch, 65_535))

    async def close(self) -> None:
        self._closed = True
        async with self._mending:
            for holding in (*self._parts, self._parked):
                with suppress(BrokerAway, ClosedByServer):
                    await holding.stop()
        self._changed.set()

    async def begin(self) -> None:
        """Counts what was parked before: what others park from here on is not for this consumer."""
        if self._parked_left is None:
            self._parked_left = await self._queues.waiting(self._parked.name) or 0

    async def mend(self) -> None:
        """Raises ``BrokerAway`` or ``BrokerRefused``."""
        if all(part.usable for part in self._parts):
            return
        async with self._mending:
            if self._closed:
                raise BrokerAway(transport="rabbitmq", address=str(self._link.address), cause="the consumer was closed")
            try:
                connection = await self._link.connection()
            except BrokerAway:
                for part in self._parts:
                    self._queues.unanswered.pop(part.name, None)
                raise
            for part in self._parts:
                if not part.usable:
                    await self._start(connection, part)

    async def _start(self, connection: Connection, part: Holding) -> None:
        """A queue that is missing is made; one that this process had seen, or that has no leader, counts as lost."""
        if part.missing and part.channel is not None:
            part.channel.abandon()
        try:
            if self._queues.unanswered[part.name] >= _LEADERLESS_AFTER:
                self._queues.unanswered.pop(part.name)
                await self._queues.replace(part.name)
            await self._queues.ensure(part.name, missing=part.missing)
            part.lost_count = self.lost_count
            await self._consume(part, await connection.channel())
        except ClosedByServer as closed:
            if closed.code == 404:
                part.missing = True
                raise connection.away(f"the queue {part.name} vanished as it was opened") from None
            raise refusal(self._link.address, closed) from None

    async def _consume(self, part: Holding, channel: Channel) -> None:
        try:
            await part.start(channel, self._changed.set)
        except BrokerAway:
            self._queues.unanswered[part.name] += 1
            raise
        except ClosedByServer:
            self._queues.unanswered.pop(part.name, None)
            raise
        except BaseException:
            channel.abandon()
            raise
        self._queues.unanswered.pop(part.name, None)

    async def _look_at_parked(self, most: int) -> list[Message]:
        """What was parked before this consumer began, each message once, before anything else."""
        await self.begin()
        if not self._parked_left:
            return []
        connection = await self._link.connection()
        if not self._parked.usable:
            self._parked.adopt(await connection.channel())
        assert self._parked.channel is not None
        count = min(most, self._parked_left, _MOST_PARKED)
        try:
            got = await self._parked.channel.get(self._parked.name, count)
        except ClosedByServer:
            got = []  # deleted meanwhile
        self._parked_left = self._parked_left - count if len(got) == count else 0
        return [self._parked.message(content) for content in got]
