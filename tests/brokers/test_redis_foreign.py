"""Entries that somebody else wrote into our streams: taken once, buried with what they held, and gone."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from penstock.brokers.transport import Transport
from tests.brokers.brokers import Broker, broker, depth_is, drained, reader, received, send

FORGED = {
    "with an urgency": ("m", "garbage", "u", "0"),
    "with an urgency that is none": ("m", "garbage", "u", "1-1 2"),
    "without a message": ("x", "1"),
    "with many fields": ("m", "garbage", *(str(number) for number in range(200))),
    "with a field twice": ("m", "one", "m", "two"),
    "with a second urgency": ("m", "one", "u", "0", "u", "2"),
}


@pytest.fixture
def place(redis_url: str) -> Broker:
    return broker("redis", redis_url)


@pytest.fixture
async def transport(place: Broker) -> AsyncIterator[Transport]:
    async with place.opened() as opened:
        yield opened
        await opened.remove(place.queue)


@pytest.fixture
async def stranger(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


@pytest.mark.parametrize("stream", ["normal", "parked"])
@pytest.mark.parametrize("fields", FORGED.values(), ids=FORGED.keys())
async def test_a_foreign_entry_is_the_same_bytes_each_time_and_goes(place, transport, stranger, fields, stream):
    await stranger.execute_command("XADD", f"{{{place.queue}}}.{stream}", "*", *fields)
    # Among the parked, the first one has the form of ours.
    like_ours = stream == "parked" and fields == FORGED["with an urgency"]
    expected, urgency = (b"garbage", 0) if like_ours else ("\n".join(fields).encode(), 1)
    for deliveries in (1, 2):
        consumer = await reader(transport, place.queue)
        (message,) = await received(consumer, 1)
        assert (message.raw, message.urgency, message.deliveries) == (expected, urgency, deliveries)
        if deliveries == 1:
            await consumer.close()
    await consumer.bury(message, "it is no JSON", "no json")
    assert not consumer._owed, "the server took the acknowledgement"
    assert [one.raw for one in await drained(transport)] == [expected]
    await consumer.close()
    assert await stranger.xlen(f"{{{place.queue}}}.{stream}") == 0


async def test_a_foreign_entry_that_comes_while_somebody_waits_is_read_the_same_way(place, transport, stranger):
    consumer = await reader(transport, place.queue)
    assert await consumer.receive(1, 0) == []
    await stranger.execute_command("XADD", f"{{{place.queue}}}.low", "*", "m", "one", "m", "two")
    (message,) = await received(consumer, 1)
    assert (message.raw, message.urgency) == (b"m\none\nm\ntwo", 2)
    await consumer.acknowledge([message])
    assert await depth_is(transport, place.queue, 0)


async def test_a_foreign_entry_holds_nobody_up(place, transport, stranger):
    await stranger.execute_command("XADD", f"{{{place.queue}}}.normal", "*", "m", "garbage", "u", "0")
    await send(transport, place.queue, "ours")
    first = await reader(transport, place.queue)
    assert len(await received(first, 2)) == 2
    await first.close()
    consumer = await reader(transport, place.queue)
    foreign, ours = await received(consumer, 2)
    await consumer.bury(foreign, "forged")
    await consumer.acknowledge([ours])
    assert await depth_is(transport, place.queue, 0)


async def test_a_foreign_dead_entry_is_drained_with_what_it_has(place, transport, stranger):
    """An id that is no time, a count that is no number: neither may stop the others."""
    dead = f"{place.prefix}.dead"
    await stranger.execute_command("XADD", dead, "1-1", "deliveries", "9" * 5000, "reason", b"\xff")
    await stranger.execute_command("XADD", dead, "18446744073709551614-1", "x", "1")
    first, second = await drained(transport)
    assert (first.deliveries, first.reason, first.kind) == (999_999_999, "\ufffd", "other")
    assert (second.raw, second.died_at) == (b"", None)
