"""What every broker does for Penstock, whatever it is. Refusals are in ``test_broker_refusals.py``, dead and parked
messages in ``test_broker_dead.py``, and what happens when it breaks in ``test_broker_faults.py``."""

import asyncio
import os
import time

import pytest

from penstock.brokers.transport import Outgoing, Transport
from tests.brokers.brokers import Broker, depth_is, reader, received, send, texts, until


async def test_messages_come_in_the_order_they_were_sent_and_go_when_acknowledged(place, transport):
    consumer = await reader(transport, place.queue)
    await send(transport, place.queue, "a", "b", "c")
    got = await received(consumer, 3)
    assert texts(got) == ["a", "b", "c"]
    assert {(message.queue, message.urgency, message.deliveries) for message in got} == {(place.queue, 1, 1)}
    await consumer.acknowledge(got)
    await consumer.close()
    assert await (await reader(transport, place.queue)).receive(10, 0.5) == []
    assert await depth_is(transport, place.queue, 0)


async def test_what_was_sent_before_the_first_consumer_is_not_lost(place, transport):
    await send(transport, place.queue, "early")
    assert texts(await received(await reader(transport, place.queue), 1)) == ["early"]


async def test_the_more_urgent_come_first_whatever_was_sent_first(place, transport):
    for urgency, text in ((2, "low"), (1, "normal"), (0, "high")):
        await send(transport, place.queue, f"{text} 1", f"{text} 2", urgency=urgency)
    consumer = await reader(transport, place.queue)
    await _all_there(place, transport, consumer, 6)
    got = await consumer.receive(3, 60)
    assert texts(got) == ["high 1", "high 2", "normal 1"]
    await send(transport, place.queue, "high 3", urgency=0)
    await _all_there(place, transport, consumer, 4)
    assert texts(await received(consumer, 1)) == ["high 3"]


async def test_never_more_than_asked_for(place, transport):
    await send(transport, place.queue, *(str(number) for number in range(30)))
    consumer = await reader(transport, place.queue)
    for _ in range(6):
        assert 1 <= len(await consumer.receive(5, 60)) <= 5


async def test_a_consumer_holds_no_more_than_its_prefetch_beyond_what_it_was_given(place, transport):
    await send(transport, place.queue, *(str(number) for number in range(50)))
    greedy = await reader(transport, place.queue, prefetch=5)
    assert len(await greedy.receive(3, 60)) <= 3
    other = await reader(transport, place.queue)
    assert len(await received(other, 50 - 3 - 5)) == 42


async def test_receiving_waits_for_the_first_message_and_no_longer(place, transport):
    consumer = await reader(transport, place.queue)
    began = time.monotonic()
    assert await consumer.receive(10, 0.3) == []
    assert time.monotonic() - began > 0.2
    waiting = asyncio.create_task(consumer.receive(10, 3600))
    await place.until_waiting(consumer)
    await send(transport, place.queue, "now")
    assert texts(await asyncio.wait_for(waiting, 60)) == ["now"]


async def test_what_a_closed_consumer_did_not_acknowledge_comes_again_and_is_counted(place, transport):
    await send(transport, place.queue, "done", "left 1", "left 2")
    for deliveries in (1, 2, 3):
        consumer = await reader(transport, place.queue)
        got = await received(consumer, 3 if deliveries == 1 else 2)
        assert {message.deliveries for message in got} == {deliveries}
        await consumer.acknowledge([message for message in got if message.raw == b"done"])
        await consumer.close()
    assert texts(await received(await reader(transport, place.queue), 2)) == ["left 1", "left 2"]


async def test_what_comes_back_reaches_a_consumer_that_is_waiting(place, transport):
    first, second = await reader(transport, place.queue), await reader(transport, place.queue)
    await send(transport, place.queue, "once more")
    receiving = {asyncio.create_task(one.receive(1, 3600)): one for one in (first, second)}
    got, others = await asyncio.wait(receiving, return_when=asyncio.FIRST_COMPLETED)
    (waiting,) = others
    await receiving[got.pop()].close()
    (again,) = await asyncio.wait_for(waiting, 60)
    assert (again.raw, again.deliveries) == (b"once more", 2)


async def test_two_consumers_share_a_queue_without_doubles(place, transport):
    numbers = [str(number) for number in range(400)]
    await send(transport, place.queue, *numbers)
    async with place.opened() as elsewhere:
        consumers = [await reader(one, place.queue, prefetch=20) for one in (transport, elsewhere)]
        shares: list[list[str]] = [[], []]
        sharing = [asyncio.create_task(_take(*pair)) for pair in zip(consumers, shares, strict=True)]
        assert await until(lambda: asyncio.sleep(0, sum(len(share) for share in shares)), len(numbers))
        for one in sharing:
            one.cancel()
        await asyncio.gather(*sharing, return_exceptions=True)
    assert sorted(int(text) for share in shares for text in share) == list(range(400))
    assert all(shares)


async def test_depth_counts_the_three_parts(place, transport):
    assert await transport.depth(place.queue) == 0
    for urgency in range(3):
        await send(transport, place.queue, "one", "two", urgency=urgency)
    assert await depth_is(transport, place.queue, 6)


async def test_a_removed_queue_is_empty_and_can_be_used_again(place, transport):
    await send(transport, place.queue, "gone")
    await transport.remove(place.queue)
    assert await transport.depth(place.queue) == 0
    await send(transport, place.queue, "new")
    assert texts(await received(await reader(transport, place.queue), 1)) == ["new"]
    await transport.remove(f"{place.queue}-that-never-was")


@pytest.mark.parametrize("size", [0, 1, 64 * 1024])
async def test_any_bytes_come_back_as_they_were(place, transport, size):
    raw = os.urandom(size)
    await transport.publish([Outgoing(place.queue, 1, raw)])
    (message,) = await received(await reader(transport, place.queue), 1)
    assert message.raw == raw


async def test_a_thousand_in_one_batch_over_all_urgencies(place, transport):
    batch = [Outgoing(place.queue, number % 3, str(number).encode()) for number in range(1000)]
    await transport.publish(batch)
    await transport.publish([])
    consumer = await reader(transport, place.queue, prefetch=1000)
    got = await received(consumer, 1000)
    assert sorted(int(message.raw) for message in got) == list(range(1000))
    for urgency in range(3):
        numbers = [int(message.raw) for message in got if message.urgency == urgency]
        assert numbers == list(range(urgency, 1000, 3))
    await consumer.acknowledge(got)
    assert await depth_is(transport, place.queue, 0)


async def test_an_acknowledgement_that_comes_twice_or_late_is_ignored(place, transport):
    await send(transport, place.queue, "a", "b")
    consumer = await reader(transport, place.queue)
    got = await received(consumer, 2)
    await consumer.acknowledge(got[:1])
    await consumer.acknowledge(got[:1])
    await consumer.close()
    await consumer.acknowledge(got)
    assert await consumer.receive(1, 0) == [] if place.name == "redis" else True


async def test_closing_ends_a_receive_and_gives_back_what_it_was_about_to_take(place, transport):
    consumer = await reader(transport, place.queue)
    waiting = asyncio.create_task(consumer.receive(1, 60))
    await place.until_waiting(consumer)
    await asyncio.gather(consumer.close(), send(transport, place.queue, "kept"))
    await asyncio.wait([waiting], timeout=60)
    assert waiting.done()
    # Either nothing, or "the consumer was closed"; never a message that nobody will handle.
    assert waiting.exception() is not None or waiting.result() == []
    assert texts(await received(await reader(transport, place.queue), 1)) == ["kept"]


async def test_a_cancelled_receive_loses_nothing(place, transport):
    consumer = await reader(transport, place.queue)
    for number in range(20):
        waiting = asyncio.create_task(consumer.receive(1, 60))
        await asyncio.wait([waiting], timeout=0.01)
        sent = asyncio.create_task(send(transport, place.queue, str(number)))
        await asyncio.wait([waiting], timeout=0.002 * (number % 4))
        waiting.cancel()
        await asyncio.wait([waiting, sent])
        if not waiting.cancelled():
            assert texts(waiting.result()) == [str(number)]
            continue
        assert texts(await received(consumer, 1)) == [str(number)]


async def _take(consumer, share: list[str]) -> None:
    while True:
        some = await consumer.receive(10, 60)
        await consumer.acknowledge(some)
        share += texts(some)


async def _all_there(place: Broker, transport: Transport, consumer, count: int) -> None:
    """RabbitMQ pushes messages into the consumer as it pleases: order is only kept among those that are there."""
    if place.name == "rabbitmq":
        assert await until(lambda: transport.depth(place.queue), 0)
        await asyncio.wait_for(_buffered(consumer, count), 60)


async def _buffered(consumer, count: int) -> None:
    while sum(len(part.buffer) for part in consumer._parts) < count:
        await asyncio.sleep(0.02)
