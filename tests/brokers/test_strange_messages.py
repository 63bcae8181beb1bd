"""Messages that nobody sent, that come twice, or never arrive: what the engine makes of them, over both brokers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from penstock.brokers.envelope import VERSION, Envelope, decode
from penstock.brokers.relay import Relay
from penstock.brokers.transport import BrokerAway, Message, Outgoing, Transport
from penstock.failpoints import Failpoints
from penstock.model import Release
from penstock.storage import dead_messages
from penstock.storage import queue as queue_table
from penstock.storage import relay as relay_table
from penstock.storage.dead_messages import DeadMessage
from penstock.storage.queue import FRONT, LaneClaim
from tests.brokers.world import BROKERS, World, eventually, made_world


@pytest.fixture(params=BROKERS)
async def broker_world(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[World]:
    made = made_world(database_url, request.param, request.getfixturevalue(f"{request.param}_url"))
    yield made
    await made.app.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b'{"header": {}}',
        b"[1, 2, 3]",
        b'{"header": {"version": 1}, "body": {}, "tracing": {}}',
        b"\x00\xff" * 100,
        b'{"header": ' + b"[" * 5000,
        b'"' + b"x" * 70_000 + b'"',
    ],
    ids=["empty", "text", "no parts", "list", "empty parts", "binary", "deep", "too large"],
)
async def test_an_unreadable_message_is_buried_with_its_bytes_and_holds_up_nothing(
    broker_world: World, raw: bytes
) -> None:
    world = broker_world

    @world.app.task()
    async def plain(n: int) -> int:
        return n

    queue = await world.queue("plain")
    async with world.broker() as broker:
        await broker.publish([Outgoing(queue, 1, raw)])
        async with world.working():
            assert await (await plain.enqueue(n=7)).result(timeout=60) == 7
            await eventually(lambda: _is(world.named("messages.buried")), what="the burial")
        ((buried, reason),) = await _buried(world, broker, queue)
        assert buried == raw
        assert reason


async def test_forged_doubled_and_foreign_messages_run_nothing_twice(broker_world: World) -> None:
    world = broker_world
    ran: Counter[int] = Counter()

    @world.app.task()
    async def once(n: int) -> None:
        ran[n] += 1

    queue = await world.queue("once")
    job = await once.enqueue_many([{"n": n} for n in range(50)])
    async with world.broker() as broker:
        sent = await _all_messages(world, broker, queue)
        forged = [replace(one, task_id=one.task_id + 1000) for one in sent]
        again = [Outgoing(queue, 1, one.encode()) for one in [*reversed(sent), *sent, *forged]]
        await broker.publish(again)
        async with world.working():
            await job.wait(timeout=60)
            await eventually(lambda: _empty(broker, queue), what="the end of the doubled messages")
            await eventually(lambda: _as_many(world, broker, queue, len(forged)), what="the burial of the forged ones")
        buried = await _buried(world, broker, queue)
        assert len(buried) == len(forged)
        assert all("forged" in reason for _, reason in buried)
    assert ran == Counter(range(50))


async def test_a_newer_version_is_left_for_a_newer_worker_and_burns_nothing(broker_world: World) -> None:
    world = broker_world

    @world.app.task()
    async def current(n: int) -> int:
        return n

    queue = await world.queue("current")
    job = await current.enqueue_many([{"n": 1}])
    async with world.broker() as broker:
        (sent,) = await _all_messages(world, broker, queue)
        newer = replace(sent, version=VERSION + 1).encode()
        await broker.publish([Outgoing(queue, 1, newer)])
        async with world.working():
            await eventually(lambda: _is(world.named("messages.parked")), what="the message to be put aside")
            await job.wait(timeout=60)
        assert await _buried(world, broker, queue) == []
        later = await broker.consumer(queue, name="newer", prefetch=10, idle_seconds=30)
        assert [one.raw for one in await later.receive(10, 5)] == [newer]
        await later.close()
    (attempts,) = {one["attempts"] for one in await _outcomes(world)}
    assert attempts == 1


async def test_a_task_that_ran_and_waits_again_before_it_was_noted_as_sent_is_sent_again(broker_world: World) -> None:
    """The relay's note comes late: the message was claimed, the run failed, and the row waits anew."""
    world = broker_world

    @world.app.task()
    async def again(n: int) -> int:
        return n

    task = await again.enqueue(n=1)
    async with world.app.connection() as connection:
        stage = world.app.stage_ids[("again", "again")]
        lane = await connection.fetchval("select lane from penstock.queue where task_id = $1", task.id)
        rows = await relay_table.unsent(connection, [LaneClaim(stage, lane, 10, FRONT)], 10)
        claimed = await queue_table.claim_by_id(connection, [task.id], 999)
        released = [Release(task_id=task.id, lease=claimed[0].lease, stage=stage, cause="retry", delay_seconds=0)]
        await queue_table.release(connection, 999, released, crash_limit=3, rescue_limit=3)
        await relay_table.mark_sent(connection, rows)
        assert await connection.fetchval("select sent_at from penstock.queue where task_id = $1", task.id) is None
        assert [row.task_id for row in await relay_table.unsent(connection, [LaneClaim(stage, lane, 10, FRONT)], 10)]


async def test_what_was_sent_and_lost_is_sent_again(broker_world: World) -> None:
    world = broker_world

    @world.app.task()
    async def lost(n: int) -> int:
        return n

    job = await lost.enqueue_many([{"n": n} for n in range(20)])
    await world.value("update penstock.queue set sent_at = now() - interval '1 hour'")
    async with world.working():
        await job.wait(timeout=60)
    assert sum(one["count"] for one in world.named("messages.resent")) == 20


async def test_a_broker_that_fails_in_the_middle_of_batches_ends_nothing(broker_world: World) -> None:
    world = broker_world

    @world.app.task()
    async def bumpy(n: int) -> int:
        return n

    job = await bumpy.enqueue_many([{"n": n} for n in range(400)])
    relay = await _relay(world, relay_batch=20)
    async with world.broker() as broker:
        publish, calls = broker.publish, 0

        async def now_and_then(batch: Sequence[Outgoing]) -> None:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0.001 * (calls % 7))
            if calls % 3 == 0:
                raise BrokerAway(transport=world.transport, address="here", cause="it was cut off")
            await publish(batch)

        broker.publish = now_and_then  # type: ignore[method-assign]
        relay._transport = broker
        running = asyncio.create_task(relay.run())

        async def all_sent() -> bool:
            assert not running.done(), running.exception()
            return not await world.value("select count(*) from penstock.queue where sent_at is null")

        await eventually(all_sent, what="the end of the relay's work")
        relay._transport = None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert world.named("duty.failed") == []
    async with world.working():
        await job.wait(timeout=60)


async def test_a_stage_that_no_relay_serves_is_claimed_all_the_same(database_url: str, redis_url: str) -> None:
    """Two processes with different settings: the one that relays does not know that this stage goes by Redis."""
    world = made_world(database_url, "redis", redis_url)

    @world.app.task()
    async def forgotten(n: int) -> int:
        return n

    async with world.working(upkeep=False):
        job = await forgotten.enqueue_many([{"n": n} for n in range(20)])
        await job.wait(timeout=60)
    assert world.named("messages.sent") == []
    await world.app.close()


# ---------------------------------------------------------------- asking


async def _is(value: object) -> bool:
    return bool(value)


async def _empty(broker: Transport, queue: str) -> bool:
    return await broker.depth(queue) == 0


async def _buried(world: World, broker: Transport, queue: str) -> list[tuple[bytes, str]]:
    """What was collected from the broker's dead-letter queue, and what still lies there."""
    async with world.app.connection() as connection:

        async def keep(portion: Sequence[DeadMessage]) -> None:
            await dead_messages.keep(connection, world.transport, portion)

        await broker.drain_dead(1000, keep)
        rows = await connection.fetch("select raw, reason from penstock.dead_messages where queue = $1", queue)
    return sorted((bytes(row["raw"]), row["reason"]) for row in rows)


async def _as_many(world: World, broker: Transport, queue: str, count: int) -> bool:
    return len(await _buried(world, broker, queue)) >= count


async def _outcomes(world: World) -> list[dict[str, int]]:
    async with world.app.connection() as connection:
        return [dict(row) for row in await connection.fetch("select task_id, attempts from penstock.outcomes")]


async def _all_messages(world: World, broker: Transport, queue: str) -> list[Envelope]:
    """What a relay sends for everything that is due, taken from the broker and left there no more."""
    relay = await _relay(world)
    running = asyncio.create_task(relay.run())
    waiting = await world.value("select count(*) from penstock.queue")

    async def all_sent() -> bool:
        return relay.sent >= waiting

    await eventually(all_sent, what="the relay's work")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    consumer = await broker.consumer(queue, name="spy", prefetch=1000, idle_seconds=30)
    messages: list[Message] = []
    while len(messages) < waiting:
        messages += await consumer.receive(1000, 5)
    await consumer.acknowledge(messages)
    await consumer.close()
    return [decode(one.raw) for one in messages]


async def _relay(world: World, **settings: int) -> Relay:
    return Relay(
        world.transport,
        settings=world.app.settings.model_copy(update=settings),
        url=await world.app.database_url(),
        events=world.app.events,
        failpoints=Failpoints(),
    )
