"""RabbitMQ as a transport: quorum queues, publisher confirms, dead letters (docs/decisions/0015)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import ClassVar
from weakref import WeakSet

from pamqp import commands

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.connection import Link, address_of, refusal
from penstock.brokers.rabbitmq.consumer import (
    DELIVERIES_HEADER,
    DIED_HEADER,
    KIND_HEADER,
    QUEUE_HEADER,
    REASON_HEADER,
    RabbitConsumer,
)
from penstock.brokers.rabbitmq.frames import Content, Sent, ack_frame, read_properties
from penstock.brokers.rabbitmq.publisher import Publisher
from penstock.brokers.rabbitmq.queues import Queues, parked_name, part_name, queue_of
from penstock.brokers.transport import DEAD_PORTION, PRIORITIES, BrokerAway, Consumer, Outgoing, Store, Transport
from penstock.config import Settings
from penstock.storage.dead_messages import DeadMessage

_NOT_FOUND = 404


class RabbitTransport(Transport):
    """Two connections: one publishes, one does all the rest."""

    name: ClassVar[str] = "rabbitmq"

    def __init__(self, settings: Settings) -> None:
        url = settings.rabbitmq_url
        address = address_of(None if url is None else url.get_secret_value())
        self._link = Link(address, "penstock")
        self._publishing = Link(address, "penstock, publishing")
        self._queues = Queues(self._link, settings.broker_prefix)
        self._publisher = Publisher(self._publishing, self._queues)
        self._draining = asyncio.Lock()
        self._plain = commands.Basic.Properties(delivery_mode=2).marshal()
        self._consumers: WeakSet[RabbitConsumer] = WeakSet()

    async def open(self) -> None:
        await self._queues.make([])

    async def close(self) -> None:
        for consumer in list(self._consumers):
            await consumer.close()
        await self._queues.close()
        await self._publishing.close()
        await self._link.close()

    async def publish(self, batch: Sequence[Outgoing]) -> None:
        if not batch:
            return
        names = {(one.queue, one.urgency): part_name(one.queue, one.urgency) for one in batch}
        plain = self._plain
        await self._publisher.publish([Sent(names[queue, urgency], plain, raw) for queue, urgency, raw in batch])

    async def depth(self, queue: str) -> int:
        """RabbitMQ tells only of messages that wait for a consumer, not of those that one holds."""
        return sum([await self._queues.waiting(part_name(queue, each)) or 0 for each in range(len(PRIORITIES))])

    async def consumer(self, queue: str, *, name: str, prefetch: int, idle_seconds: float) -> Consumer:
        """A broker that is away is told by ``receive``; one that refuses, here. RabbitMQ notices by itself who is
        gone, so ``idle_seconds`` has no use."""
        consumer = RabbitConsumer(
            link=self._link, queues=self._queues, publisher=self._publisher, queue=queue, name=name, prefetch=prefetch
        )
        with suppress(BrokerAway):
            await consumer.begin()
            await consumer.mend()
        self._consumers.add(consumer)
        return consumer

    async def drain_dead(self, most: int, store: Store) -> int:
        """On a channel of its own: what was taken and not stored goes back when that closes. AMQP has no way to look
        without taking, so nobody looks."""
        async with self._draining:
            channel = await (await self._link.connection()).channel()
            try:
                return await self._drained(channel, most, store)
            except ClosedByServer as closed:
                if closed.code == _NOT_FOUND:
                    return 0
                raise refusal(self._link.address, closed) from None
            finally:
                channel.abandon()

    async def _drained(self, channel: Channel, most: int, store: Store) -> int:
        drained = 0
        while drained < most:
            got = await channel.get(self._queues.dead_name, min(most - drained, DEAD_PORTION))
            if not got:
                break
            await store([dead_message(content) for content in got])
            channel.send(ack_frame(channel.number, got[-1].tag, multiple=True))
            drained += len(got)
        return drained

    async def remove(self, queue: str) -> None:
        names = [part_name(queue, urgency) for urgency in range(len(PRIORITIES))]
        await self._queues.delete([*names, parked_name(queue)])


def dead_message(content: Content) -> DeadMessage:
    """Ours say why in their headers; of those that came through the exchange RabbitMQ has noted it (``x-death``). Known
    again by the id it was buried with; what an operator rejected has none, and is known by its bytes."""
    properties = read_properties(content.properties)
    headers = properties.headers or {}
    deaths = headers.get("x-death")
    death = deaths[0] if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict) else {}
    queue, reason, kind = (headers.get(name) for name in (QUEUE_HEADER, REASON_HEADER, KIND_HEADER))
    counted, died_at = headers.get(DELIVERIES_HEADER), _time(headers.get(DIED_HEADER)) or _time(properties.timestamp)
    if reason is None and death:
        queue, died_at = queue_of(str(death.get("queue", ""))), _time(death.get("time"))
        reason = f"the broker took it out of {death.get('queue')!s} ({death.get('reason')!s})"
        counted, kind = headers.get("x-delivery-count"), "broker"
    return DeadMessage(
        queue=str(queue or ""),
        raw=content.body,
        reason=str(reason or "nobody said why"),
        deliveries=counted if isinstance(counted, int) and counted > 0 else 1,
        died_at=died_at,
        token=properties.message_id or sha256(content.body).hexdigest(),
        kind=str(kind or "other"),
    )


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
