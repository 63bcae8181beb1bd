"""Redis Streams as a broker: a stream for each queue and urgency, read by one consumer group.

What is acknowledged is deleted, so that the length of a stream is the number of messages in it. Redis may lose what it
confirmed when it dies before its append-only file is written (by default: the last second); the resend duty has
such messages sent again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import ClassVar
from weakref import WeakSet

from penstock.brokers.redis.consumer import RedisConsumer
from penstock.brokers.redis.link import GroupMissing, RedisLink, Script
from penstock.brokers.redis.names import GROUP, Names, dead_stream
from penstock.brokers.transport import DEAD_PORTION, BrokerRefused, Consumer, Outgoing, Store, Transport
from penstock.config import Settings
from penstock.errors import UsageError
from penstock.storage.dead_messages import DeadMessage

_OLDEST = (6, 2)
_MOST_BYTES = 4 * 1024 * 1024
"""Sent in one go: large messages go in smaller portions, so that a portion has its answer in time."""


class RedisTransport(Transport):
    name: ClassVar[str] = "redis"

    def __init__(self, settings: Settings) -> None:
        if settings.redis_url is None:
            raise UsageError("PENSTOCK_REDIS_URL does not say where Redis is. Set it, or choose another transport.")
        self._link = RedisLink(settings.redis_url.get_secret_value())
        self._dead = dead_stream(settings.broker_prefix)
        self._publish = Script("publish")
        self._consumers: WeakSet[RedisConsumer] = WeakSet()

    async def open(self) -> None:
        told = await self._link.call("INFO", "server")
        version = str(told.get("redis_version", "0")) if isinstance(told, dict) else "0"
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
            raise BrokerRefused(
                transport=self.name,
                address=self._link.address,
                cause=f"it is Redis {version}",
                next_step="Redis 6.2 or newer is needed.",
            )

    async def close(self) -> None:
        for consumer in list(self._consumers):
            await consumer.close()
        await self._link.close()

    async def publish(self, batch: Sequence[Outgoing]) -> None:
        """A portion that fails half way leaves its first part in the stream: doubled messages do no harm."""
        ordered = sorted(batch, key=lambda one: (one.queue, one.urgency))
        for (queue, urgency), messages in groupby(ordered, key=lambda one: (one.queue, one.urgency)):
            stream = Names(queue).streams[urgency]
            for portion in _portions([one.raw for one in messages]):
                await self._link.run(self._publish, (stream,), *portion)

    async def depth(self, queue: str) -> int:
        streams = Names(queue).streams
        lengths = await self._link.together(*(("XLEN", stream) for stream in streams))
        try:
            given = await self._link.together(*(("XPENDING", stream, GROUP) for stream in streams))
        except GroupMissing:
            given = []  # nobody has received anything
        return max(sum(map(int, lengths)) - sum(int(one["pending"]) for one in given), 0)

    async def consumer(self, queue: str, *, name: str, prefetch: int, idle_seconds: float) -> Consumer:
        consumer = RedisConsumer(
            self._link, Names(queue), name=name, prefetch=prefetch, idle_seconds=idle_seconds, dead=self._dead
        )
        await consumer.start()
        self._consumers.add(consumer)
        return consumer

    async def drain_dead(self, most: int, store: Store) -> int:
        drained = 0
        while drained < most:
            count = min(most - drained, DEAD_PORTION)
            entries = await self._link.call("XRANGE", self._dead, "-", "+", "COUNT", count)
            if not entries:
                break
            await store([_dead_message(entry_id, fields or {}) for entry_id, fields in entries])
            await self._link.call("XDEL", self._dead, *(entry_id for entry_id, _ in entries))
            drained += len(entries)
        return drained

    async def remove(self, queue: str) -> None:
        await self._link.call("DEL", *Names(queue).all)


def _portions(messages: list[bytes]) -> list[list[bytes]]:
    portions: list[list[bytes]] = []
    size = 0
    for raw in messages:
        if not portions or size + len(raw) > _MOST_BYTES:
            portions.append([])
            size = 0
        portions[-1].append(raw)
        size += len(raw)
    return portions


def _dead_message(entry_id: bytes, fields: dict[bytes, bytes]) -> DeadMessage:
    """An entry that somebody else wrote lacks fields: it is shown with what it has."""
    deliveries = fields.get(b"deliveries", b"")[:9]
    return DeadMessage(
        queue=fields.get(b"queue", b"").decode(errors="replace"),
        raw=fields.get(b"m", b""),
        reason=fields.get(b"reason", b"").decode(errors="replace"),
        deliveries=int(deliveries) if deliveries.isdigit() else 1,
        died_at=_time_of(entry_id),
        token=entry_id,
        kind=fields.get(b"kind", b"other").decode(errors="replace"),
    )


def _time_of(entry_id: bytes) -> datetime | None:
    """Redis makes ids from its clock; somebody else may have chosen one that is no time."""
    try:
        return datetime.fromtimestamp(int(entry_id.partition(b"-")[0]) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
