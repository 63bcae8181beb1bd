"""A broker as the conformance tests see it: the same few things for each, and what only its own client can do."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import aio_pika
from redis.asyncio import Redis

from penstock.brokers import made
from penstock.brokers.transport import Consumer, Message, Outgoing, Transport
from penstock.config import load
from penstock.storage.dead_messages import DeadMessage

BROKERS = ("redis", "rabbitmq")
IDLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """``prefix`` is the test's own, so that tests may share a server."""

    name: str
    url: str
    prefix: str

    @property
    def queue(self) -> str:
        return f"{self.prefix}.work"

    def transport(self, url: str | None = None) -> Transport:
        """Not opened."""
        given = {f"{self.name}_url": url or self.url}
        return made(self.name, load(transport=self.name, broker_prefix=self.prefix, **given))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Transport]:
        transport = self.transport()
        await transport.open()
        try:
            yield transport
        finally:
            await transport.close()

    async def until_waiting(self, consumer: Consumer) -> None:
        """Until a receive of this consumer has found nothing and waits."""
        async with asyncio.timeout(60):
            while not (consumer._changed._waiters if self.name == "rabbitmq" else consumer._waiting):  # type: ignore[attr-defined]
                await asyncio.sleep(0)

    def with_password(self, password: str) -> str:
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=f"guest:{password}@{parts.hostname}:{parts.port}"))

    def with_port(self, port: int) -> str:
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")))

    async def spoil(self, queue: str) -> None:
        """Somebody else made something of another kind under a name of the queue."""
        if self.name == "redis":
            client = Redis.from_url(self.url)
            await client.set(f"{{{queue}}}.normal", "not a stream")
            await client.aclose()
            return
        connection = await aio_pika.connect(self.url)
        async with connection, connection.channel() as channel:
            await channel.declare_queue(f"{queue}.normal", durable=True)

    async def fill(self, queue: str) -> None:
        """The least urgent part takes no more than one message."""
        if self.name == "redis":
            client = Redis.from_url(self.url)
            await client.set(f"{{{queue}}}.low", "not a stream")
            await client.aclose()
            return
        limits = {"x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish"}
        connection = await aio_pika.connect(self.url)
        async with connection, connection.channel() as channel:
            await channel.declare_queue(f"{queue}.low", durable=True, arguments=limits)

    async def empty(self, queue: str) -> None:
        """As an operator would: everything is gone, and nobody is told."""
        if self.name == "redis":
            client = Redis.from_url(self.url)
            await client.flushall()
            await client.aclose()
            return
        connection = await aio_pika.connect(self.url)
        async with connection, connection.channel() as channel:
            for urgency in ("high", "normal", "low"):
                await channel.queue_delete(f"{queue}.{urgency}")


def broker(name: str, url: str) -> Broker:
    return Broker(name=name, url=url, prefix=f"test-{uuid4().hex[:10]}")


async def send(transport: Transport, queue: str, *texts: str, urgency: int = 1) -> None:
    await transport.publish([Outgoing(queue, urgency, text.encode()) for text in texts])


async def reader(transport: Transport, queue: str, *, prefetch: int = 100) -> Consumer:
    return await transport.consumer(queue, name="tester", prefetch=prefetch, idle_seconds=IDLE_SECONDS)


async def received(consumer: Consumer, count: int, *, wait_seconds: float = 60.0) -> list[Message]:
    """So many messages, in however many goes: a broker may hand out fewer than there are."""
    got: list[Message] = []
    while len(got) < count:
        some = await consumer.receive(count - len(got), wait_seconds)
        assert some, f"{len(got)} of {count} messages came"
        got += some
    return got


def texts(messages: list[Message]) -> list[str]:
    return [message.raw.decode() for message in messages]


async def drained(transport: Transport, most: int = 1000) -> list[DeadMessage]:
    """What lay in the dead-letter queue; it is gone from there."""
    got: list[DeadMessage] = []

    async def store(portion: Sequence[DeadMessage]) -> None:
        got.extend(portion)

    assert await transport.drain_dead(most, store) == len(got)
    return got


async def depth_is(transport: Transport, queue: str, expected: int) -> bool:
    """Some brokers count a little later than they answer."""
    return await until(lambda: transport.depth(queue), expected)


async def until(ask: Callable[[], Awaitable[Any]], expected: Any, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while await ask() != expected:
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True
