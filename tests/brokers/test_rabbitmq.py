"""RabbitMQ beyond what every broker has to do: its queues, its counts, its returns, its refusals."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import pytest
from pamqp import commands

from penstock.brokers.rabbitmq import consumer as rabbitmq_consumer
from penstock.brokers.rabbitmq.channel import Channel
from penstock.brokers.rabbitmq.connection import Connection, address_of
from penstock.brokers.rabbitmq.frames import Sent
from penstock.brokers.rabbitmq.transport import RabbitTransport
from penstock.brokers.transport import BrokerAway, BrokerRefused, Consumer, Message, Outgoing
from penstock.config import Settings
from penstock.testing.brokers import free_port
from tests.brokers.brokers import drained

QUEUE = "stage"


def made(url: str, prefix: str) -> RabbitTransport:
    return RabbitTransport(Settings(rabbitmq_url=url, broker_prefix=prefix))


@pytest.fixture
def prefix() -> str:
    return f"t{uuid4().hex[:12]}"


@pytest.fixture
def queue(prefix) -> str:
    return f"{prefix}.{QUEUE}"


@pytest.fixture
async def rabbit(rabbitmq_url, prefix, queue) -> AsyncIterator[RabbitTransport]:
    transport = made(rabbitmq_url, prefix)
    await transport.open()
    yield transport
    await transport.remove(queue)
    await transport._queues.delete([f"{prefix}.dead"])
    await transport.close()


@asynccontextmanager
async def operator(url: str) -> AsyncIterator[Channel]:
    """Somebody else at the same broker."""
    connection = await Connection.opened(address_of(url), "operator")
    try:
        yield await connection.channel()
    finally:
        await connection.close()


async def consumer(rabbit: RabbitTransport, queue: str, prefetch: int = 100) -> Consumer:
    return await rabbit.consumer(queue, name="runner", prefetch=prefetch, idle_seconds=30)


async def received(consumer: Consumer, count: int) -> list[Message]:
    got: list[Message] = []
    async with asyncio.timeout(60):
        while len(got) < count:
            got += await consumer.receive(count - len(got), 1)
    return got


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await true():
            await asyncio.sleep(0.02)


def texts(messages: list[Message]) -> list[str]:
    return [message.raw.decode() for message in messages]


async def test_queues_are_made_by_the_first_message_and_urgent_ones_come_first(rabbit, queue):
    await rabbit.publish([Outgoing(queue, urgency, b"%d" % urgency) for urgency in (2, 1, 0)])
    assert await rabbit.depth(queue) == 3
    receiving = await consumer(rabbit, queue)
    await until(lambda: holds(receiving, 3))
    assert texts(await receiving.receive(10, 1)) == ["0", "1", "2"]


async def holds(receiving: Consumer, count: int) -> bool:
    return sum(len(part.buffer) for part in receiving._parts) == count  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 700_000])
async def test_a_body_of_any_size_comes_back_as_it_was(rabbit, queue, size):
    raw = bytes(i % 253 for i in range(size))
    await rabbit.publish([Outgoing(queue, 1, raw), Outgoing(queue, 1, b"after")])
    got = await received(await consumer(rabbit, queue), 2)
    assert [message.raw for message in got] == [raw, b"after"]


async def test_deliveries_are_counted_over_consumers_that_left(rabbit, queue):
    await rabbit.publish([Outgoing(queue, 0, b"x")])
    for deliveries in (1, 2, 3):
        receiving = await consumer(rabbit, queue)
        (message,) = await received(receiving, 1)
        assert message.deliveries == deliveries
        await receiving.close()


async def test_only_what_was_not_acknowledged_comes_back(rabbit, queue):
    """Out of order and twice: one acknowledgement for many must not reach too far."""
    await rabbit.publish([Outgoing(queue, 1, b"%d" % number) for number in range(100)])
    first = await consumer(rabbit, queue)
    got = await received(first, 100)
    for batch in (got[50:60], got[0:20], got[55:65], got[30:50], got[90:99]):
        await first.acknowledge(batch)
    await first.close()
    second = await consumer(rabbit, queue)
    assert texts(await received(second, 36)) == [str(n) for n in (*range(20, 30), *range(65, 90), 99)]
    await first.acknowledge(got)  # too late, and of a channel that is gone
    assert await second.receive(10, 0.1) == []


async def test_a_consumer_holds_one_prefetch_beyond_what_it_was_given(rabbit, queue):
    await rabbit.publish([Outgoing(queue, 1, b"%d" % number) for number in range(100)])
    receiving = await consumer(rabbit, queue, prefetch=10)
    await until(lambda: waits(rabbit, queue, 90))
    given = await received(receiving, 60)
    assert texts(given) == [str(number) for number in range(60)]
    await until(lambda: holds(receiving, 10))
    assert await rabbit.depth(queue) == 30
    await receiving.acknowledge(given)
    rest = await received(receiving, 40)
    await receiving.acknowledge(rest)
    await receiving.close()
    assert await rabbit.depth(queue) == 0


async def waits(rabbit: RabbitTransport, queue: str, count: int) -> bool:
    return await rabbit.depth(queue) == count


async def test_a_deleted_queue_is_made_anew_and_counted(rabbit, queue, rabbitmq_url):
    receiving = await consumer(rabbit, queue)
    await rabbit.publish([Outgoing(queue, 1, b"lost")])
    (lost,) = await received(receiving, 1)
    assert receiving.lost_count == 0
    async with operator(rabbitmq_url) as channel:
        await channel.call(commands.Queue.Delete(queue=f"{queue}.normal"), commands.Queue.DeleteOk)
    await until(lambda: counted(receiving))
    await receiving.acknowledge([lost])
    await rabbit.publish([Outgoing(queue, 1, b"again"), Outgoing(queue, 0, b"urgent")])
    assert set(texts(await received(receiving, 2))) == {"again", "urgent"}


async def counted(receiving: Consumer) -> bool:
    await receiving.receive(1, 0.05)
    return receiving.lost_count > 0


async def test_a_consumer_that_is_not_told_of_a_deleted_queue_hears_of_it_from_who_made_it_again(
    rabbit, queue, rabbitmq_url
):
    receiving = await consumer(rabbit, queue)
    assert await receiving.receive(1, 0) == []
    await deleted_untold(receiving, queue, rabbitmq_url)
    await rabbit.publish([Outgoing(queue, 1, b"after")])
    (message,) = await received(receiving, 1)
    assert message.raw == b"after"
    await receiving.acknowledge([message])
    channels = [part.channel for part in receiving._parts]
    assert await receiving.receive(1, 0.2) == []
    assert [part.channel for part in receiving._parts] == channels, "once is enough"


async def test_a_consumer_that_nobody_tells_of_a_deleted_queue_begins_anew_when_it_is_idle(
    rabbit, queue, rabbitmq_url, prefix, monkeypatch
):
    monkeypatch.setattr(rabbitmq_consumer, "_DOUBT_SECONDS", 1.0)
    receiving = await consumer(rabbit, queue)
    assert await receiving.receive(1, 0) == []
    await deleted_untold(receiving, queue, rabbitmq_url)
    elsewhere = made(rabbitmq_url, prefix)
    await elsewhere.open()
    await elsewhere.publish([Outgoing(queue, 1, b"after")])
    await elsewhere.close()
    assert texts(await received(receiving, 1)) == ["after"]


async def test_a_consumer_that_works_on_something_does_not_begin_anew(rabbit, queue, monkeypatch):
    monkeypatch.setattr(rabbitmq_consumer, "_DOUBT_SECONDS", 0.0)
    await rabbit.publish([Outgoing(queue, 1, b"long")])
    receiving = await consumer(rabbit, queue)
    (held,) = await received(receiving, 1)
    channel = receiving._parts[1].channel
    assert await receiving.receive(1, 0.2) == []
    assert receiving._parts[1].channel is channel
    await receiving.acknowledge([held])
    async with asyncio.timeout(60):
        while receiving._parts[1].channel is channel:
            assert await receiving.receive(1, 0.2) == []


async def test_receiving_that_is_cancelled_again_and_again_loses_no_queue_and_no_channel(rabbit, queue, monkeypatch):
    monkeypatch.setattr(rabbitmq_consumer, "_DOUBT_SECONDS", 0.0)
    receiving = await consumer(rabbit, queue)
    for number in range(60):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.001 * (number % 8)):
                await receiving.receive(1, 1)
    await rabbit.publish([Outgoing(queue, 1, b"after")])
    assert texts(await received(receiving, 1)) == ["after"]
    assert receiving.lost_count == 0
    connection = await rabbit._link.connection()
    await until(lambda: _few(connection))


async def _few(connection: Connection) -> bool:
    return len(connection._channels) <= 8


async def test_both_sides_may_close_a_channel_at_one_time(rabbit, queue, rabbitmq_url):
    await rabbit.publish([Outgoing(queue, 1, b"there")])
    connection = await rabbit._link.connection()
    for _ in range(20):
        channel = await connection.channel()
        channel.tell(commands.Queue.Declare(queue="nowhere", passive=True))  # the broker closes it
        channel.abandon()
        await (await connection.channel()).close()
    assert connection.problem is None
    assert await rabbit.depth(queue) == 1


async def deleted_untold(receiving: Consumer, queue: str, url: str) -> None:
    for part in receiving._parts:  # type: ignore[attr-defined]
        part.channel.on_cancel = lambda: None
    async with operator(url) as channel:
        await channel.call(commands.Queue.Delete(queue=f"{queue}.normal"), commands.Queue.DeleteOk)


async def test_what_no_queue_took_is_sent_again_once_the_queue_is_made(rabbit, queue, rabbitmq_url):
    await rabbit.publish([Outgoing(queue, urgency, b"before") for urgency in (0, 1, 2)])
    receiving = await consumer(rabbit, queue)
    await receiving.acknowledge(await received(receiving, 3))
    await receiving.close()
    async with operator(rabbitmq_url) as channel:
        await channel.call(commands.Queue.Delete(queue=f"{queue}.high"), commands.Queue.DeleteOk)
    await rabbit.publish([Outgoing(queue, urgency, b"%d" % urgency) for urgency in (0, 1, 2)])
    assert await rabbit.depth(queue) == 3
    assert receiving.lost_count == 1


async def test_batches_may_be_under_way_at_one_time(rabbit, queue):
    batches = [[Outgoing(queue, 1, b"%d.%d" % (batch, i)) for i in range(200)] for batch in range(10)]
    await asyncio.gather(*(rabbit.publish(batch) for batch in batches))
    got = texts(await received(await consumer(rabbit, queue, prefetch=500), 2000))
    assert len(set(got)) == 2000


async def test_what_an_operator_rejects_is_dead_with_the_brokers_reason(rabbit, queue, rabbitmq_url):
    await rabbit.publish([Outgoing(queue, 2, b"rejected")])
    async with operator(rabbitmq_url) as channel:
        (content,) = await channel.get(f"{queue}.low", 1)
        channel.tell(commands.Basic.Reject(delivery_tag=content.tag, requeue=False))
        await until(lambda: some_dead(rabbit))
    (dead,) = await drained(rabbit)
    assert (dead.raw, dead.queue) == (b"rejected", queue)
    assert dead.reason == f"the broker took it out of {queue}.low (rejected)"
    assert dead.died_at is not None and dead.kind == "broker"


async def test_the_dead_letter_queue_keeps_the_youngest_when_nobody_collects(rabbit, queue, prefix):
    rabbit._queues._most_dead = 10
    await rabbit._queues.delete([f"{prefix}.dead"])
    await rabbit.open()
    await rabbit.publish([Outgoing(queue, 1, b"%d" % number) for number in range(30)])
    receiving = await consumer(rabbit, queue)
    for message in await received(receiving, 30):
        await receiving.bury(message, "nobody collects")
    await receiving.close()
    assert [one.raw for one in await drained(rabbit)] == [b"%d" % number for number in range(20, 30)]


async def test_a_dead_letter_queue_without_a_bound_is_used_as_it_is(rabbit, queue, prefix, rabbitmq_url):
    await rabbit._queues.delete([f"{prefix}.dead"])
    async with operator(rabbitmq_url) as channel:
        older = commands.Queue.Declare(queue=f"{prefix}.dead", durable=True, arguments={"x-queue-type": "quorum"})
        await channel.call(older, commands.Queue.DeclareOk)
        await channel.call(commands.Exchange.Delete(exchange=f"{prefix}.dead"), commands.Exchange.DeleteOk)
        await rabbit.open()
        await rabbit.publish([Outgoing(queue, 1, b"rejected")])
        (content,) = await channel.get(f"{queue}.normal", 1)
        channel.tell(commands.Basic.Reject(delivery_tag=content.tag, requeue=False))
        await until(lambda: some_dead(rabbit))
    assert [one.raw for one in await drained(rabbit)] == [b"rejected"]


async def test_properties_that_nobody_can_read_hold_nobody_up(rabbit, queue, rabbitmq_url):
    """A time in the year 292278994 beside headers: the message is taken without either, and goes."""
    forged = struct.pack(">HIQ", 0x2040, 0, 2**63)
    receiving = await consumer(rabbit, queue)
    await rabbit._publisher.publish([Sent(f"{queue}.normal", forged, b"forged")])
    await rabbit.publish([Outgoing(queue, 1, b"ours")])
    messages = await received(receiving, 2)
    assert texts(messages) == ["forged", "ours"]
    await receiving.bury(messages[0], "it is no JSON")
    await rabbit._publisher.publish([Sent(rabbit._queues.dead_name, forged, b"dead as well")])
    assert {one.raw for one in await drained(rabbit)} == {b"forged", b"dead as well"}


async def some_dead(rabbit: RabbitTransport) -> bool:
    return bool(await rabbit._queues.waiting(rabbit._queues.dead_name))


async def test_a_parked_message_waits_for_consumers_that_start_later(rabbit, queue):
    await rabbit.publish([Outgoing(queue, 0, b"from the future")])
    first = await consumer(rabbit, queue)
    (message,) = await received(first, 1)
    await first.park(message)
    assert await first.receive(10, 0.1) == []
    second = await consumer(rabbit, queue)
    (again,) = await received(second, 1)
    assert (again.raw, again.urgency) == (b"from the future", 0)
    await second.park(again)
    assert await second.receive(10, 0.1) == []
    third = await consumer(rabbit, queue)
    await third.acknowledge(await received(third, 1))
    await third.close()
    assert await (await consumer(rabbit, queue)).receive(10, 0.1) == []


async def test_a_wrong_password_is_refused_and_not_repeated(rabbitmq_url, prefix):
    wrong = rabbitmq_url.replace("guest:guest", "guest:hush-hush")
    with pytest.raises(BrokerRefused, match=r"Login was refused.*Check user and password") as caught:
        await made(wrong, prefix).open()
    assert "hush-hush" not in str(caught.value)


async def test_a_missing_virtual_host_is_refused_with_what_to_do(rabbitmq_url, prefix):
    with pytest.raises(BrokerRefused, match=r"vhost nowhere not found.*Make the virtual host"):
        await made(f"{rabbitmq_url}nowhere", prefix).open()


async def test_a_queue_of_another_kind_is_refused_with_what_to_do(rabbit, queue, rabbitmq_url):
    async with operator(rabbitmq_url) as channel:
        classic = commands.Queue.Declare(
            queue=f"{queue}.high", durable=True, arguments={"x-dead-letter-exchange": rabbit._queues.dead_name}
        )
        await channel.call(classic, commands.Queue.DeclareOk)
        with pytest.raises(BrokerRefused, match=r"x-queue-type.*another kind.*delete it"):
            await consumer(rabbit, queue)


async def test_nobody_at_the_port_is_a_broker_away(prefix):
    rabbit = made(f"amqp://guest:guest@127.0.0.1:{free_port()}/", prefix)
    with pytest.raises(BrokerAway, match="refused"):
        await rabbit.open()
    receiving = await consumer(rabbit, "x")
    with pytest.raises(BrokerAway):
        await receiving.receive(1, 60)
    await receiving.acknowledge([])
    await rabbit.close()
