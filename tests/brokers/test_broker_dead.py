"""Messages that nobody reads: buried and drained, parked and found by later consumers. The same for every broker."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from penstock.brokers.transport import DEAD_PORTION, Consumer, Outgoing, Transport
from penstock.storage.dead_messages import DeadMessage
from tests.brokers.brokers import Broker, drained, reader, received, send


async def test_a_buried_message_is_drained_with_its_bytes_and_then_gone(place, transport):
    raw = bytes(range(256)) * 4
    began = time.time()
    await transport.publish([Outgoing(place.queue, 0, raw)])
    consumer = await reader(transport, place.queue)
    (message,) = await received(consumer, 1)
    await consumer.bury(message, "it is no JSON: “ü”", "no json")
    (dead,) = await drained(transport)
    assert (dead.queue, dead.raw, dead.reason, dead.deliveries) == (place.queue, raw, "it is no JSON: “ü”", 1)
    assert dead.kind == "no json"
    # The broker's clock may be another one.
    assert dead.died_at is not None and began - 60 < dead.died_at.timestamp() < time.time() + 60
    await consumer.close()
    assert await (await reader(transport, place.queue)).receive(1, 0.5) == []
    assert await drained(transport) == []


async def test_a_message_that_is_buried_without_a_kind_is_of_another(place, transport):
    await _buried(place, transport, ["a"])
    assert [one.kind for one in await drained(transport)] == ["other"]


async def test_the_oldest_are_drained_first_in_portions_and_no_more_than_asked(place, transport):
    names = [f"{number:03}" for number in range(DEAD_PORTION * 2 + 20)]
    await _buried(place, transport, names)
    portions: list[list[str]] = []

    async def store(portion: Sequence[DeadMessage]) -> None:
        portions.append([one.raw.decode() for one in portion])

    assert await transport.drain_dead(DEAD_PORTION + 10, store) == DEAD_PORTION + 10
    assert [len(one) for one in portions] == [DEAD_PORTION, 10]
    assert [name for one in portions for name in one] == names[: DEAD_PORTION + 10]
    assert await transport.drain_dead(1000, store) == DEAD_PORTION + 10
    assert [name for one in portions for name in one] == names


@pytest.mark.parametrize("how", [OSError, asyncio.CancelledError])
async def test_what_could_not_be_stored_stays_and_what_was_stored_goes(place, transport, how):
    await _buried(place, transport, [str(number) for number in range(DEAD_PORTION + 5)])
    portions: list[int] = []

    async def store(portion: Sequence[DeadMessage]) -> None:
        portions.append(len(portion))
        if len(portions) == 2:
            raise how("the database is away")

    with pytest.raises(how):
        await transport.drain_dead(1000, store)
    assert portions == [DEAD_PORTION, 5]
    left: list[str] = []
    async with asyncio.timeout(60):
        while len(left) < 5:
            left += [one.raw.decode() for one in await drained(transport)]
    assert sorted(left) == [str(number) for number in range(DEAD_PORTION, DEAD_PORTION + 5)]


async def test_draining_many_takes_as_long_for_the_last_as_for_the_first(place, transport):
    """10,000 take ten times as long as 1,000, and both well under a minute."""
    await _buried(place, transport, [str(number) for number in range(3000)])
    async with asyncio.timeout(60):
        assert len({one.raw for one in await drained(transport, 5000)}) == 3000


async def test_a_dead_letter_queue_that_was_never_made_is_empty(place):
    transport = place.transport()
    assert await drained(transport) == []
    await transport.close()


async def test_a_parked_message_is_found_by_later_consumers_only(place, transport):
    older, idle = await reader(transport, place.queue), await reader(transport, place.queue)
    assert await older.receive(1, 0) == await idle.receive(1, 0) == []
    await send(transport, place.queue, "from the future", urgency=2)
    parked: list[bytes] = []
    async with asyncio.timeout(60):
        while not parked:
            for consumer in (older, idle):
                for message in await consumer.receive(1, 0.1):
                    await consumer.park(message)
                    parked.append(message.raw)
    assert await older.receive(1, 1.5) == await idle.receive(1, 0.5) == []
    newer = await reader(transport, place.queue)
    (message,) = await received(newer, 1)
    assert (message.raw, message.urgency, message.queue) == (b"from the future", 2, place.queue)
    await newer.acknowledge([message])
    await newer.close()
    assert await (await reader(transport, place.queue)).receive(1, 0.5) == []


async def test_a_message_that_is_parked_again_waits_for_the_next_one(place, transport):
    await send(transport, place.queue, "from the far future")
    for _ in range(3):
        consumer = await reader(transport, place.queue)
        (message,) = await received(consumer, 1)
        await consumer.park(message)
        assert await consumer.receive(1, 0.3) == []


async def test_a_consumer_looks_at_what_was_parked_before_it_began_and_at_no_more(place, transport):
    """Counted at its start, not when it first receives: what others park meanwhile is for those that come later."""
    await send(transport, place.queue, "before", "after")
    older = await reader(transport, place.queue)
    before, after = await received(older, 2)
    await older.park(before)
    newer = await reader(transport, place.queue)
    await older.park(after)
    assert [message.raw for message in await received(newer, 1)] == [b"before"]
    assert await newer.receive(1, 0.5) == []


async def _buried(place: Broker, transport: Transport, names: list[str]) -> None:
    """In this order, where they are few."""
    consumer: Consumer = await reader(transport, place.queue, prefetch=1000)
    for start in range(0, len(names), 1000):
        batch = names[start : start + 1000]
        await send(transport, place.queue, *batch)
        messages = await received(consumer, len(batch))
        at_once = 50 if len(names) > 1000 else 1
        for first in range(0, len(messages), at_once):
            await asyncio.gather(*(consumer.bury(message, "bad") for message in messages[first : first + at_once]))
    await consumer.close()
