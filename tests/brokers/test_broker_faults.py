"""What every broker does for Penstock when it breaks: stopped, killed, frozen, emptied, and consumers that die."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock.brokers.redis.consumer import RedisConsumer
from penstock.brokers.transport import BrokerAway, Consumer, Message, Outgoing, Transport
from penstock.testing.brokers import Server
from tests.brokers.brokers import BROKERS, Broker, broker, reader, received, send, texts

PENSTOCK = Path(__file__).parents[2]
DYING = """
import asyncio, sys
from tests.brokers.brokers import Broker, reader, received
async def main():
    place = Broker(name=sys.argv[1], url=sys.argv[2], prefix=sys.argv[3])
    async with place.opened() as transport:
        got = await received(await reader(transport, place.queue), 3)
        print(len(got), flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture(params=BROKERS)
def server(request: pytest.FixtureRequest) -> Server:
    running: Server = request.getfixturevalue({"redis": "own_redis", "rabbitmq": "own_rabbit"}[request.param])
    return running


@pytest.fixture
def place(server: Server) -> Broker:
    return broker({"Redis": "redis", "RabbitMQ": "rabbitmq"}[server.name], server.url)


@pytest.fixture
async def transport(place: Broker, server: Server) -> AsyncIterator[Transport]:
    async with place.opened() as opened:
        yield opened
        server.ensure_running()


async def test_what_a_dead_consumer_held_comes_to_others(place, transport):
    await send(transport, place.queue, "a", "b", "c")
    command = [sys.executable, "-c", DYING, place.name, place.url, place.prefix]
    with subprocess.Popen(command, cwd=PENSTOCK, stdout=subprocess.PIPE, text=True) as dying:
        assert dying.stdout is not None
        assert await asyncio.to_thread(dying.stdout.readline) == "3\n"
        dying.send_signal(signal.SIGKILL)
    got = await received(await reader(transport, place.queue), 3)
    assert sorted(texts(got)) == ["a", "b", "c"]
    assert {message.deliveries for message in got} == {2}


async def test_a_consumer_that_is_busy_and_receives_nothing_is_not_gone(place, transport):
    busy = await reader(transport, place.queue)
    await send(transport, place.queue, "long work")
    (message,) = await received(busy, 1)
    other = await reader(transport, place.queue)
    # Several times as long as the silence after which a consumer counts as gone.
    assert await other.receive(1, 3.5) == []
    await busy.acknowledge([message])
    await busy.close()
    assert await other.receive(1, 0.5) == []


async def test_a_consumer_that_does_not_receive_takes_nothing_new_for_itself(place, transport):
    resting = await reader(transport, place.queue, prefetch=1)
    other = await reader(transport, place.queue)
    await _signs_of_life(resting, 1)
    await send(transport, place.queue, *(str(number) for number in range(20)))
    await _signs_of_life(resting, 2)
    # One may lie in the buffer of the one that rests.
    assert {message.deliveries for message in await received(other, 19)} == {1}
    await resting.close()


async def test_a_restarted_server_has_what_was_confirmed_and_consumers_go_on(place, transport, server):
    consumer = await reader(transport, place.queue)
    await send(transport, place.queue, "held")
    held = await received(consumer, 1)
    await send(transport, place.queue, "waits")
    server.stop()
    before = await _until_away(consumer)
    assert await _away(send(transport, place.queue, "nowhere"))
    await consumer.acknowledge(held)
    server.start()
    # What was handed out before and could not be acknowledged comes again.
    assert {message.raw for message in await _after(consumer, {b"waits"})} >= {b"waits"}
    assert len(before) <= 1
    await _published(transport, place.queue, "new")
    assert b"new" in {message.raw for message in await _after(consumer, {b"new"})}
    assert consumer.lost_count == 0


async def test_a_killed_server_is_away_and_comes_back(place, transport, server):
    consumer = await reader(transport, place.queue)
    waiting = asyncio.create_task(consumer.receive(1, 3600))
    # A kill sooner after a queue was made has a test of its own in test_rabbitmq_killed.py.
    await asyncio.wait([waiting], timeout=1.5)
    server.kill()
    assert await _away(waiting)
    server.start()
    await _published(transport, place.queue, "again")
    assert b"again" in {message.raw for message in await _after(consumer, {b"again"})}


async def test_a_frozen_server_is_away_and_nothing_is_lost(place, transport, server):
    consumer = await reader(transport, place.queue)
    assert await consumer.receive(1, 0) == []
    sender = place.transport()
    await sender.open()
    await send(sender, place.queue, "warm")
    await consumer.acknowledge(await received(consumer, 1))
    server.freeze()
    calls = [send(sender, place.queue, "doubtful"), transport.depth(place.queue)]
    # Redis is noticed by the time of an answer, RabbitMQ by heartbeats that stay out; unnoticed it would hang for ever.
    assert await asyncio.gather(*(_away(call) for call in calls), _until_away(consumer)) == [True, True, []]
    server.thaw()
    await _published(sender, place.queue, "after")
    assert b"after" in {message.raw for message in await _after(consumer, {b"after"})}
    await sender.close()


async def test_messages_handed_out_by_an_answer_that_got_lost_are_handed_out_again(place, transport, server):
    consumer = await reader(transport, place.queue)
    waiting = asyncio.create_task(consumer.receive(10, 3600))
    await place.until_waiting(consumer)
    async with place.opened() as elsewhere:
        server.freeze()
        sending = asyncio.create_task(send(elsewhere, place.queue, "unseen"))
        await asyncio.wait([sending], timeout=0.1)
        waiting.cancel()
        await asyncio.wait([waiting])
        server.thaw()
        await asyncio.wait([sending])
        assert texts(await received(consumer, 1)) == ["unseen"]


async def test_an_emptied_server_is_noticed_and_filled_again(place, transport):
    consumer = await reader(transport, place.queue)
    await send(transport, place.queue, "gone 1", "gone 2")
    held = await received(consumer, 1)
    await place.empty(place.queue)
    assert await _until_lost(consumer) >= 1
    lost = consumer.lost_count
    await consumer.acknowledge(held)
    await _published(transport, place.queue, "sent again")
    assert b"sent again" in {message.raw for message in await _after(consumer, {b"sent again"})}
    assert consumer.lost_count == lost


async def test_an_emptied_server_that_was_sent_to_first_loses_none_of_that(place, transport):
    consumer = await reader(transport, place.queue)
    assert await consumer.receive(1, 0) == []
    await place.empty(place.queue)
    await _published(transport, place.queue, "first")
    assert b"first" in {message.raw for message in await _after(consumer, {b"first"})}
    assert consumer.lost_count >= 1


async def test_a_server_restarted_under_load_loses_nothing_that_was_confirmed(place, transport, server):
    consumer = await reader(transport, place.queue, prefetch=50)
    confirmed: list[bytes] = []
    sending = asyncio.create_task(_keep_sending(transport, place.queue, confirmed))
    seen: set[bytes] = set()
    reading = asyncio.create_task(_keep_reading(consumer, seen))
    await _reached(confirmed, 300)
    await asyncio.to_thread(server.restart)
    await _reached(confirmed, len(confirmed) + 300)
    sending.cancel()
    await asyncio.wait([sending])
    deadline = time.monotonic() + 60
    while not seen.issuperset(confirmed) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    reading.cancel()
    await asyncio.wait([reading])
    assert set(confirmed) - seen == set()


async def _signs_of_life(consumer: Consumer, count: int) -> None:
    """Of a consumer that does not receive. To RabbitMQ it gives none: its connection does."""
    if not isinstance(consumer, RedisConsumer):
        return
    given, call = asyncio.Semaphore(0), consumer._link.call

    async def counted(*command: Any, **options: Any) -> Any:
        answer = await call(*command, **options)
        if consumer._name in command:
            given.release()
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(consumer._link, "call", counted)
        async with asyncio.timeout(60):
            for _ in range(count):
                await given.acquire()


async def _keep_sending(transport: Transport, queue: str, confirmed: list[bytes]) -> None:
    while True:
        batch = [os.urandom(8).hex().encode() for _ in range(20)]
        try:
            await transport.publish([Outgoing(queue, 1, raw) for raw in batch])
            confirmed += batch
        except BrokerAway:
            pass
        await asyncio.sleep(0.01)


async def _keep_reading(consumer: Consumer, seen: set[bytes]) -> None:
    while True:
        try:
            got = await consumer.receive(50, 1)
            seen |= {message.raw for message in got}
            await consumer.acknowledge(got)
        except BrokerAway:
            await asyncio.sleep(0.05)


async def _reached(confirmed: list[bytes], count: int) -> None:
    async with asyncio.timeout(60):
        while len(confirmed) < count:
            await asyncio.sleep(0.02)


async def _away(call) -> bool:
    try:
        await call
    except BrokerAway:
        return True
    return False


async def _until_away(consumer: Consumer) -> list[Message]:
    """What the consumer had in store already; after that the broker is away."""
    got: list[Message] = []
    async with asyncio.timeout(60):
        while True:
            try:
                got += await consumer.receive(10, 1)
            except BrokerAway:
                return got


async def _after(consumer: Consumer, wanted: set[bytes]) -> list[Message]:
    """What comes until all of the wanted have, acknowledged; a broker that comes back may be away for a moment yet."""
    got: list[Message] = []
    async with asyncio.timeout(90):
        while not {message.raw for message in got} >= wanted:
            try:
                some = await consumer.receive(10, 1)
                await consumer.acknowledge(some)
                got += some
            except BrokerAway:
                await asyncio.sleep(0.1)
    return got


async def _published(transport: Transport, queue: str, text: str) -> None:
    async with asyncio.timeout(90):
        while await _away(send(transport, queue, text)):
            await asyncio.sleep(0.1)


async def _until_lost(consumer: Consumer) -> int:
    async with asyncio.timeout(60):
        while not consumer.lost_count:
            try:
                await consumer.receive(1, 0.5)
            except BrokerAway:
                await asyncio.sleep(0.1)
    return consumer.lost_count
