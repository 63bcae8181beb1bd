"""Messages nobody can read: brought home from the broker, looked at, mended, sent again, thrown away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from penstock.brokers import dead_messages
from penstock.brokers.collecting import Collector
from penstock.brokers.dead_messages import MessageFilter, MessageNotFound, MessageRefused
from penstock.brokers.envelope import Envelope, job_id_of
from penstock.brokers.message_replays import replay_matching
from penstock.brokers.transport import BrokerAway, Outgoing, Store, Transport
from penstock.config import Settings
from penstock.errors import IllegalMove, InvalidSetting, NotKnown
from penstock.storage import dead_messages as table
from penstock.storage import relay
from penstock.storage.dead_messages import DeadMessage
from penstock.upkeep.duties import Retention
from tests.brokers.world import BROKERS, World, eventually, made_world

REASON = "somebody buried it"


@pytest.fixture(params=BROKERS)
async def world(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[World]:
    async for made in _world(database_url, request.param, request.getfixturevalue(f"{request.param}_url")):
        yield made


@pytest.fixture
async def redis_world(database_url: str, redis_url: str) -> AsyncIterator[World]:
    async for made in _world(database_url, "redis", redis_url):
        yield made


async def _world(database_url: str, transport: str, url: str) -> AsyncIterator[World]:
    made = made_world(database_url, transport, url)

    @made.app.task()
    async def add(n: int) -> int:
        return n + 1

    await made.app.open()
    yield made
    await made.app.close()


async def envelope(world: World, task_id: int, **changes: Any) -> Envelope:
    async with world.app.connection() as connection:
        installation, now = await relay.installation(connection), await table.now(connection)
    given: dict[str, Any] = {"type": "add", "lane": 1, "priority": 0, "attempt": 1, "max_attempts": 3} | changes
    return Envelope(**{"job_id": job_id_of(installation, task_id), "task_id": task_id, "created_at": now, **given})


async def dead(world: World, raws: Sequence[bytes], reason: str = REASON) -> list[int]:
    """As a relay has collected them; in the order given."""
    queue = await world.queue("add")
    made = [
        DeadMessage(queue=queue, raw=raw, reason=reason, deliveries=1, died_at=None, token=f"token {n} of {id(raws)}")
        for n, raw in enumerate(raws)
    ]
    async with world.app.connection() as connection:
        return [(await table.keep(connection, world.transport, [one]))[0].id for one in made]


@asynccontextmanager
async def collector(world: World, transport: Transport) -> AsyncIterator[Collector]:
    made = Collector(
        world.transport,
        settings=world.app.settings,
        url=await world.app.database_url(),
        events=world.app.events,
        transport=lambda: transport,
    )
    try:
        yield made
    finally:
        made._link.drop()


@asynccontextmanager
async def undertaker(
    world: World, broker: Transport, reason: str = REASON, spare: int = 0
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Yields a call that buries the messages of the stage but the first ``spare`` and brings them home, as workers and
    relays would. Only while it runs, so that a test decides when messages come back."""
    left = spare
    consumer = await broker.consumer(await world.queue("add"), name="undertaker", prefetch=10, idle_seconds=30)
    async with collector(world, broker) as collecting:

        async def bury() -> None:
            nonlocal left
            for message in await consumer.receive(10, 0.2):
                if left:
                    left -= 1
                    await consumer.acknowledge([message])
                else:
                    await consumer.bury(message, reason)
            await collecting.run_once()

        yield bury


async def received(world: World, broker: Transport) -> list[bytes]:
    consumer = await broker.consumer(await world.queue("add"), name="test", prefetch=100, idle_seconds=30)
    try:
        messages = await consumer.receive(100, 1.0)
        await consumer.acknowledge(messages)
        return [one.raw for one in messages]
    finally:
        await consumer.close()


# ---------------------------------------------------------------- brought home


async def test_a_message_nobody_can_read_is_found_in_postgresql_with_its_bytes_and_its_reason(world: World) -> None:
    junk = b"\x00\xff no JSON \x1b[2J"
    async with world.working(), world.broker() as broker:
        await broker.publish([Outgoing(await world.queue("add"), 1, junk)])

        async def collected() -> Any:
            return (await dead_messages.page(world.app, MessageFilter())).rows

        (row,) = await eventually(collected, what="the message in PostgreSQL")
        assert (row["transport"], row["stage"], row["reason"]) == (world.transport, "add", "it is no JSON")

        async def forgotten() -> bool:
            async with collector(world, broker) as collecting:
                return await collecting.run_once() == 0

        await eventually(forgotten, what="an empty dead-letter queue")
    found = await dead_messages.show(world.app, row["id"])
    assert found["raw"] == junk and found["decoded"] is None and found["deliveries"] == 1
    assert await dead_messages.open_counts(world.app) == {world.transport: 1}
    (told,) = world.named("messages.collected")
    assert told["count"] == 1 and told["reasons"] == {"no json": 1}


class _Forgetful:
    """A broker whose connection is gone when it should forget."""

    def __init__(self, broker: Transport) -> None:
        self._broker = broker

    async def drain_dead(self, most: int, store: Store) -> int:
        async def cut(portion: Sequence[DeadMessage]) -> None:
            await store(portion)
            raise BrokerAway(transport="test", address="nowhere", cause="it was cut")

        return await self._broker.drain_dead(most, cut)


async def test_a_message_collected_twice_is_kept_once(world: World) -> None:
    async with world.broker() as broker:
        queue = await world.queue("add")
        await broker.publish([Outgoing(queue, 1, b"same"), Outgoing(queue, 1, b"same"), Outgoing(queue, 1, b"other")])
        consumer = await broker.consumer(queue, name="test", prefetch=10, idle_seconds=30)
        buried = 0
        while buried < 3:
            for message in await consumer.receive(10, 1.0):
                await consumer.bury(message, REASON)
                buried += 1
        await consumer.close()
        cut: Any = _Forgetful(broker)
        async with collector(world, cut) as collecting:
            with pytest.raises(BrokerAway):
                await collecting.run_once()
        async with collector(world, broker) as collecting:
            assert await collecting.run_once() == 3
            assert await collecting.run_once() == 0
    assert len((await dead_messages.page(world.app, MessageFilter())).rows) == 3
    assert sum(one["count"] for one in world.named("messages.collected")) == 3


async def test_bytes_that_die_again_under_the_same_token_are_open_again(redis_world: World) -> None:
    """RabbitMQ knows what an operator rejected by its bytes alone."""
    message = DeadMessage(queue="q\0", raw=b"x", reason="a\0b", deliveries=1, died_at=None, token="digest")
    async with redis_world.app.connection() as connection:
        (first,) = await table.keep(connection, "rabbitmq", [message])
        assert await table.keep(connection, "rabbitmq", [message]) == []
        assert await table.take(connection, first.id, "ann", edited=False)
        (again,) = await table.keep(connection, "rabbitmq", [message])
        assert again.id == first.id
        row = await table.get(connection, first.id)
    assert row is not None and row["replayed_at"] is None and (row["queue"], row["reason"]) == ("q\\0", "a\\0b")


async def test_of_a_huge_message_the_beginning_is_kept_and_its_size_is_told(redis_world: World) -> None:
    (number,) = await dead(redis_world, [b"x" * (table.KEPT_BYTES + 5)])
    found = await dead_messages.show(redis_world.app, number)
    assert len(found["raw"]) == table.KEPT_BYTES and f"{table.KEPT_BYTES + 5:,} bytes" in found["reason"]


# ---------------------------------------------------------------- looked at


async def test_pages_are_newest_first_and_filters_narrow_them(redis_world: World) -> None:
    numbers = await dead(redis_world, [b"%d" % n for n in range(5)])
    app = redis_world.app
    first = await dead_messages.page(app, MessageFilter(), limit=2)
    second = await dead_messages.page(app, MessageFilter(), after=first.next, limit=2)
    third = await dead_messages.page(app, MessageFilter(), after=second.next, limit=2)
    assert [row["id"] for page in (first, second, third) for row in page.rows] == numbers[::-1] and third.next is None
    async with app.connection() as connection:
        await table.take(connection, numbers[0], "ann", edited=False)
    sent = await dead_messages.page(app, MessageFilter(open=False))
    assert [(row["id"], row["replayed_by"]) for row in sent.rows] == [(numbers[0], "ann")]
    assert len((await dead_messages.page(app, MessageFilter(open=None))).rows) == 5
    assert (await dead_messages.page(app, MessageFilter(transport="rabbitmq"))).rows == ()
    assert len((await dead_messages.page(app, await dead_messages.filter_of(app, stage="add"))).rows) == 4
    with pytest.raises(NotKnown, match=r"no stage 'ad'.*add"):
        await dead_messages.filter_of(app, stage="ad")
    with pytest.raises(MessageNotFound, match="no dead message '4711'"):
        await dead_messages.show(app, 4711)


async def test_discarded_and_old_ones_go(redis_world: World) -> None:
    app = redis_world.app
    numbers = await dead(redis_world, [b"1", b"2", b"3"])
    assert await dead_messages.discard(app, [numbers[0], 4711], by="ann") == [numbers[0]]
    async with app.connection() as connection:
        await connection.execute(
            "update penstock.dead_messages set arrived_at = now() - interval '2 days' where id = $1", numbers[1]
        )
        assert (await Retention(settings=Settings(retention_days=1)).run_once(connection))["dead_messages"] == 1
    assert [row["id"] for row in (await dead_messages.page(app, MessageFilter())).rows] == [numbers[2]]
    assert redis_world.named("messages.discarded")[0]["messages"] == [numbers[0]]


# ---------------------------------------------------------------- sent again


async def test_an_edited_message_reaches_its_queue_once(world: World) -> None:
    good = (await envelope(world, 7, priority=-5)).encode()
    (number,) = await dead(world, [good.replace(b'"attempt":1', b'"attempt":"one"')])
    found = await dead_messages.show(world.app, number)
    assert found["problem"].startswith("header.attempt is 'one'") and found["decoded"]["body"]["task_id"] == 7
    assert (await dead_messages.replay(world.app, number, by="ann", raw=good)).task_id == 7
    with pytest.raises(IllegalMove, match="sent again by ann"):
        await dead_messages.replay(world.app, number, by="bob", raw=good)
    async with world.broker() as broker:
        assert await received(world, broker) == [good]
    shown = await dead_messages.show(world.app, number)
    assert shown["edited"] and shown["replayed_by"] == "ann"


async def test_two_people_who_send_the_same_message_send_it_once(redis_world: World) -> None:
    (number,) = await dead(redis_world, [(await envelope(redis_world, 7)).encode()])
    answers = await asyncio.gather(
        *(dead_messages.replay(redis_world.app, number, by=name) for name in ("ann", "bob", "eve")),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in answers) == ["Envelope", "IllegalMove", "IllegalMove"]
    async with redis_world.broker() as broker:
        assert len(await received(redis_world, broker)) == 1


async def test_what_a_worker_would_bury_or_put_aside_is_refused_with_its_clause(redis_world: World) -> None:
    world = redis_world
    good = await envelope(world, 7)
    (number,) = await dead(world, [b"junk"])
    wrong = {
        b"junk": "it is no JSON",
        b"{}": "it has no header",
        b"x" * 65_537: "65,537 bytes",
        good.encode().replace(b'"lane":1', b'"lane":0'): "body.lane is 0",
        good.encode().replace(b'"version":1', b'"version":2'): "version 2",
        (await envelope(world, 7, job_id=job_id_of(UUID(int=7), 7))).encode(): "forged",
        (await envelope(world, 7, type="subtract")).encode(): "header.type is 'subtract'",
    }
    for raw, clause in wrong.items():
        with pytest.raises(MessageRefused, match=clause):
            await dead_messages.replay(world.app, number, by="ann", raw=raw)
    with pytest.raises(NotKnown):
        await dead_messages.replay(world.app, number, by="ann", raw=good.encode(), stage="nowhere")
    assert (await dead_messages.show(world.app, number))["replayed_at"] is None
    async with world.broker() as broker:
        assert await broker.depth(await world.queue("add")) == 0


async def test_a_broker_that_is_away_leaves_the_message_open(database_url: str) -> None:
    async for world in _world(database_url, "redis", "redis://127.0.0.1:1/0"):
        (number,) = await dead(world, [(await envelope(world, 7)).encode()])
        with pytest.raises(BrokerAway):
            await dead_messages.replay(world.app, number, by="ann")
        assert (await dead_messages.show(world.app, number))["replayed_at"] is None


# ---------------------------------------------------------------- sent again, many


async def test_many_are_sent_no_faster_than_asked_and_what_cannot_be_read_stays(redis_world: World) -> None:
    world = redis_world
    raws = [(await envelope(world, n)).encode() for n in range(1, 7)]
    numbers = await dead(world, [*raws[:3], b"junk", *raws[3:]])
    now, told = [0.0], list[int]()

    async def pause(seconds: float) -> None:
        now[0] += seconds

    report = await replay_matching(
        world.app, MessageFilter(), by="ann", per_second=2, tell=told.append, pause=pause, clock=lambda: now[0]
    )
    assert report.replayed == 6 and not report.stopped and report.refused == {numbers[3]: "it is no JSON"}
    assert now[0] == pytest.approx(3.0) and told == [1, 2, 3, 4, 5, 6]
    async with world.broker() as broker:
        assert sorted(await received(world, broker)) == sorted(raws)
    with pytest.raises(InvalidSetting, match="rate"):
        await replay_matching(world.app, MessageFilter(), by="ann", per_second=0)


async def test_a_canary_that_comes_back_with_the_same_reason_stops_the_others(world: World) -> None:
    task = await world.app.enqueue("add", {"n": 1})
    numbers = await dead(world, [(await envelope(world, task.id, attempt=n)).encode() for n in range(1, 6)])
    async with world.broker() as broker, undertaker(world, broker) as bury:

        async def pause(seconds: float) -> None:
            await bury()

        report = await replay_matching(
            world.app, MessageFilter(), by="ann", canary=True, canary_seconds=30, pause=pause
        )
    assert report.stopped and report.replayed == 1 and report.canary is not None
    assert (report.canary.ended, report.canary.same_reason) == ("dead", True)
    assert report.canary.message_id == numbers[-1] and report.canary.reason == REASON
    still = {row["id"] for row in (await dead_messages.page(world.app, MessageFilter())).rows}
    assert set(numbers[:-1]) < still and len(still) == 5


async def test_a_canary_that_nobody_takes_in_time_stops_the_others(redis_world: World) -> None:
    task = await redis_world.app.enqueue("add", {"n": 1})
    await dead(redis_world, [(await envelope(redis_world, task.id, attempt=n)).encode() for n in (1, 2)])
    report = await replay_matching(redis_world.app, MessageFilter(), by="ann", canary=True, canary_seconds=0.2)
    assert report.stopped and report.replayed == 1 and report.canary is not None
    assert report.canary.ended == "waiting"


async def test_a_canary_whose_task_runs_lets_the_others_go(world: World) -> None:
    task = await world.app.enqueue("add", {"n": 1})
    await dead(world, [(await envelope(world, task.id, attempt=n)).encode() for n in (1, 2, 3)])
    async with world.working():
        report = await replay_matching(world.app, MessageFilter(), by="ann", canary=True, canary_seconds=30)
        assert await task.result(timeout=60) == 2
    assert not report.stopped and report.replayed == 3 and report.canary is not None
    assert report.canary.passed


async def test_many_that_come_back_with_their_reason_stop_the_rest(redis_world: World) -> None:
    """Also after a canary that went well: nobody wants to send ten thousand that all come back."""
    world = redis_world
    raws = [(await envelope(world, n)).encode() for n in range(1, 41)]
    await dead(world, raws)

    async with world.broker() as broker, undertaker(world, broker, spare=1) as bury:

        async def all_back() -> bool:
            """But for the first, which a worker took."""
            await bury()
            unsent = "select count(*) from penstock.dead_messages where replayed_at is null"
            return bool(await world.value(unsent) == len(raws) - 1)

        async def pause(seconds: float) -> None:
            await eventually(all_back, what="the return of what was sent")

        report = await replay_matching(
            world.app, MessageFilter(), by="ann", canary=True, per_second=10, stop_after=3, pause=pause
        )
    assert report.canary is not None
    assert report.canary.passed  # its task is not there any more, so there was nothing to wait for
    assert (report.stopped, report.came_back, report.replayed) == (True, 3, 5), "the one before the third was back too"
