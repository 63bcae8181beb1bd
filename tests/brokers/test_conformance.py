"""What holds for every transport: PostgreSQL alone, Redis, RabbitMQ. The engine, real servers, one suite."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from penstock import RetryPolicy, State, Task, TransientError
from penstock.control import jobs, lanes, stages
from tests.brokers.world import TRANSPORTS, World, eventually, made_world

AT_ONCE = RetryPolicy(base_seconds=0.01, jitter=0)


@pytest.fixture(params=TRANSPORTS)
async def world(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[World]:
    url = None if request.param == "postgres" else request.getfixturevalue(f"{request.param}_url")
    # A broker on a busy machine is slow, not away: what goes around it would show nothing here.
    made = made_world(database_url, request.param, url, broker_patience_seconds=60.0)
    yield made
    await made.app.close()


async def test_every_task_runs_once_and_no_message_is_left(world: World) -> None:
    ran: Counter[int] = Counter()

    @world.app.task()
    async def add(n: int) -> int:
        ran[n] += 1
        return n + 1

    async with world.working():
        job = await add.enqueue_many([{"n": n} for n in range(500)])
        singles = [await add.enqueue(n=1000 + n) for n in range(20)]
        await job.wait(timeout=60)
        assert [await one.result(timeout=60) for one in singles] == [1001 + n for n in range(20)]
    assert (await job.counts()).done == 500
    assert set(ran.values()) == {1} and len(ran) == 520
    if world.transport != "postgres":
        assert sum(event["count"] for event in world.named("messages.sent")) >= 520
        async with world.broker() as broker:
            assert await broker.depth(await world.queue("add")) == 0


async def test_an_urgent_task_does_not_wait_behind_a_long_queue(world: World) -> None:
    order: list[str] = []
    go, sent = asyncio.Event(), asyncio.Event()

    @world.app.task(pool=1)
    async def one_by_one(kind: str) -> None:
        await go.wait()
        order.append(kind)
        await asyncio.sleep(0.001)
        if len(order) == 500:  # by now the broker has room for further messages, however slowly they are sent
            await sent.wait()

    await one_by_one.options(priority="low").enqueue_many([{"kind": "low"} for _ in range(1500)])
    async with world.working():
        await eventually(lambda: _is(world.named("tasks.claimed")), what="the first claim")
        urgent = [await one_by_one.options(priority="high").enqueue(kind="high") for _ in range(5)]
        go.set()
        await eventually(lambda: _sent(world, urgent), what="the messages of the urgent ones")
        sent.set()
        for task in urgent:
            await task.result(timeout=60)
    # Not how many had run when this process heard of the end.
    before = order[: max(place for place, kind in enumerate(order) if kind == "high")]
    assert before.count("low") < 1000
    assert order.count("high") == 5


async def test_a_small_lane_does_not_wait_behind_a_large_one(world: World) -> None:
    order: list[int] = []

    @world.app.task(pool=10)
    async def slow(n: int) -> None:
        await asyncio.sleep(0.05)
        order.append(n)

    async with world.working():
        await slow.options(lane="big").enqueue_many([{"n": n} for n in range(3000)])
        await eventually(lambda: _ended_at_least(world, 100), what="the first hundred")
        await (await slow.options(lane="small").enqueue(n=3000)).result(timeout=60)
        assert order.index(3000) < 2500


async def test_a_task_for_later_is_not_early(world: World) -> None:
    @world.app.task()
    async def later() -> None: ...

    async with world.working():
        task = await later.options(delay=timedelta(seconds=1.5)).enqueue()
        await task.result(timeout=60)
    late = await world.value(
        "select extract(epoch from o.finished_at - t.created_at)::float8 from penstock.outcomes o"
        " join penstock.tasks t on t.id = o.task_id where t.id = $1",
        task.id,
    )
    assert late >= 1.5


async def test_a_failed_run_is_tried_again_until_its_attempts_are_used(world: World) -> None:
    runs: Counter[str] = Counter()

    @world.app.task(retry=AT_ONCE, max_attempts=3)
    async def shaky(name: str, fails: int) -> str:
        runs[name] += 1
        if runs[name] <= fails:
            raise TransientError("not yet")
        return name

    async with world.working():
        good = await shaky.enqueue(name="good", fails=2)
        bad = await shaky.enqueue(name="bad", fails=9)
        assert await good.result(timeout=60) == "good"
        await eventually(lambda: _state(bad, State.ERROR), what="the end of the bad one")
    assert runs == {"good": 3, "bad": 3}


async def test_stages_follow_each_other(world: World) -> None:
    pipeline = world.app.pipeline("two")

    @pipeline.stage()
    async def first(n: int) -> int:
        return n * 2

    @pipeline.stage()
    async def second(result: int) -> int:
        return result + 1

    async with world.working():
        tasks = [await pipeline.enqueue(n=n) for n in range(30)]
        assert [await one.result(timeout=60) for one in tasks] == [n * 2 + 1 for n in range(30)]


async def test_a_paused_lane_rests_and_goes_on_when_it_is_resumed(world: World) -> None:
    ran: list[int] = []

    @world.app.task(lane="calm")
    async def calm(n: int) -> None:
        ran.append(n)

    @world.app.task()
    async def other() -> None: ...

    async with world.working():
        await (await calm.enqueue(n=0)).result(timeout=60)
        await lanes.pause(world.app, "calm", "calm", by="ann")
        tasks = [await calm.enqueue(n=n) for n in range(1, 50)]
        for _ in range(3):  # later tasks of the same worker pass
            await (await other.enqueue()).result(timeout=60)
        assert ran == [0]
        await lanes.resume(world.app, "calm", "calm", by="ann")
        for one in tasks:
            await one.result(timeout=60)
    assert sorted(ran) == list(range(50))


async def test_a_paused_stage_whose_messages_are_out_runs_nothing_until_it_is_resumed(world: World) -> None:
    ran: list[int] = []
    go = asyncio.Event()

    @world.app.task(pool=1)
    async def staged(n: int) -> None:
        ran.append(n)
        await go.wait()

    @world.app.task()
    async def other() -> None: ...

    async with world.working():
        # More than the inbox holds: what was claimed before the pause may still run.
        job = await staged.enqueue_many([{"n": n} for n in range(1500)])
        await eventually(lambda: _is(ran), what="the first run")
        await stages.pause(world.app, "staged", by="ann")
        go.set()
        await eventually(lambda: _nothing_runs(world), what="the rest of the stage")
        done = len(ran)
        for _ in range(3):  # later tasks of the same worker pass
            await (await other.enqueue()).result(timeout=60)
        assert len(ran) == done < 1500
        await stages.resume(world.app, "staged", by="ann")
        await job.wait(timeout=60)
    assert sorted(ran) == list(range(1500))


async def test_a_cancelled_job_ends_though_its_messages_are_out(world: World) -> None:
    go = asyncio.Event()

    @world.app.task(pool=2)
    async def doomed(n: int) -> None:
        await go.wait()

    async with world.working():
        # More than the inbox holds, so that some are left however long the decision takes on a busy machine.
        job = await doomed.enqueue_many([{"n": n} for n in range(2000)])
        await eventually(lambda: _is(world.named("tasks.claimed")), what="the first claim")
        await jobs.cancel(world.app, job.id, by="ann")
        go.set()
        await eventually(lambda: _ended(world, 2000), what="the end of all of them")
    counts = await job.counts()
    claimed = sum(event["count"] for event in world.named("tasks.claimed"))
    assert counts.cancelled >= 2000 - claimed > 0 and counts.pending == counts.processing == 0


async def test_a_limit_of_the_fleet_is_exact_whatever_the_transport(world: World) -> None:
    at_once = most = 0

    @world.app.task(max_running=1)
    async def alone(n: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        at_once -= 1

    async with world.working(), world.working(upkeep=False):
        job = await alone.enqueue_many([{"n": n} for n in range(60)])
        await job.wait(timeout=60)
    assert most == 1


# ---------------------------------------------------------------- asking


async def _is(value: object) -> bool:
    return bool(value)


async def _sent(world: World, tasks: Sequence[Task[Any]]) -> bool:
    """Whether these have their messages, where tasks go by messages."""
    unsent = "select count(*) from penstock.queue where task_id = any ($1) and sent_at is null and worker is null"
    return world.transport == "postgres" or not await world.value(unsent, [one.id for one in tasks])


async def _state(task: Task[str], state: State) -> bool:
    return await task.state() is state


async def _nothing_runs(world: World) -> bool:
    return not await world.value("select count(*) from penstock.queue where worker is not null")


async def _ended(world: World, count: int) -> bool:
    return bool(await world.value("select count(*) from penstock.outcomes") == count)


async def _ended_at_least(world: World, count: int) -> bool:
    return bool(await world.value("select count(*) from penstock.outcomes") >= count)
