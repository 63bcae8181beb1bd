"""RabbitMQ as a transport: quorum queues, publisher confirms, dead letters (docs/decisions/0015)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar
from weakref import WeakSet

from pamqp import commands

from penstock.brokers.rabbitmq.address import address_of
from penstock.brokers.rabbitmq.consumer import RabbitConsumer
from penstock.brokers.rabbitmq.dead import DeadLetters
from penstock.brokers.rabbitmq.frames import Sent
from penstock.brokers.rabbitmq.link import Link
from penstock.brokers.rabbitmq.publisher import Publisher
from penstock.brokers.rabbitmq.queues import Queues, parked_name, part_name
from penstock.brokers.transport import PRIORITIES, BrokerAway, Consumer, Outgoing, Store, Transport
from penstock.config import Settings


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
        self._dead = DeadLetters(self._link, self._queues)
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
        return await self._dead.drain(most, store)

    async def remove(self, queue: str) -> None:
        names = [part_name(queue, urgency) for urgency in range(len(PRIORITIES))]
        await self._queues.delete([*names, parked_name(queue)])
