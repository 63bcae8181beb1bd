"""The dead-letter queue, emptied a portion at a time: what was stored elsewhere is acknowledged here.

AMQP has no way to look without taking, so nobody looks. A message is known again by the id it was buried with; what an
operator rejected has none, and is known by its bytes.
"""

import asyncio
from datetime import UTC, datetime
from hashlib import sha256

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.connection import refusal
from penstock.brokers.rabbitmq.consumer import DELIVERIES_HEADER, DIED_HEADER, KIND_HEADER, QUEUE_HEADER, REASON_HEADER
from penstock.brokers.rabbitmq.frames import Content, ack_frame, read_properties
from penstock.brokers.rabbitmq.link import Link
from penstock.brokers.rabbitmq.queues import Queues, queue_of
from penstock.brokers.transport import DEAD_PORTION, Store
from penstock.storage.dead_messages import DeadMessage

_NOT_FOUND = 404


class DeadLetters:
    def __init__(self, link: Link, queues: Queues) -> None:
        self._link = link
        self._queues = queues
        self._lock = asyncio.Lock()

    async def drain(self, most: int, store: Store) -> int:
        """On a channel of its own: what was taken and not stored goes back when that closes."""
        async with self._lock:
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


def token_of(content: Content) -> str:
    return read_properties(content.properties).message_id or sha256(content.body).hexdigest()


def dead_message(content: Content) -> DeadMessage:
    """Ours say why in their headers; of those that came through the exchange RabbitMQ has noted it (``x-death``)."""
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
        token=token_of(content),
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
