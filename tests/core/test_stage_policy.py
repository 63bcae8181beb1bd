"""What a stage says about itself: in which order it is served, how much a claim takes, how many start per cycle."""

import asyncio
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Penstock, worker
from penstock.config import Settings, load
from penstock.core.stage import served_stages
from penstock.errors import InvalidDefinition
from penstock.insight.overview import overview
from penstock.model import Claimed
from penstock.workers.coordinator import Coordinator, throttles
from penstock.workers.inbox import Held, Inbox


def three_stages(app: Penstock, **policy: Any) -> Any:
    pipe = app.pipeline("pipe")
    for name in ("read", "form", "ask"):

        @pipe.stage(name, **policy.get(name, {}))
        async def step(_: Any = None) -> None: ...

    return pipe


async def test_earlier_stages_are_served_first_unless_a_stage_says_otherwise(app: Penstock) -> None:
    three_stages(app)
    other = app.pipeline("other")

    @other.stage("last", order=9)
    async def last() -> None: ...

    @other.stage("next", order=-1)
    async def following(_: Any) -> None: ...

    await app.open()
    served = [stage.definition.name for stage in served_stages(app.pipelines.values(), app.stage_ids, app.settings)]
    assert served == ["next", "read", "form", "ask", "last"]


@pytest.mark.parametrize(("order", "first"), [(None, "read"), (-1, "form")])
async def test_under_one_shared_limit_the_stage_that_is_first_in_order_is_claimed_first(
    app: Penstock, working: Any, order: int | None, first: str
) -> None:
    ran: list[str] = []
    pipe = app.pipeline("pipe")

    @pipe.stage("read")
    async def read(n: int) -> None:
        ran.append("read")

    @pipe.stage("form", order=order)
    async def form(_: Any) -> None:
        ran.append("form")

    job = await pipe.enqueue_many([{"n": n} for n in range(2)])
    async with app.connection() as connection:
        await connection.execute("update penstock.lanes set max_running = 1")
        # One task is at the second stage already, and both are due.
        await connection.execute(
            "update penstock.queue set stage = $1 where task_id = (select max(task_id) from penstock.queue)",
            app.stage_ids[("pipe", "form")],
        )
    async with working():
        await job.wait(60)
    assert sorted(ran) == ["form", "form", "read"]
    assert ran[0] == first


async def test_no_claim_takes_more_rows_than_the_batch_of_its_stage(app: Penstock, working: Any, heard: Any) -> None:
    @app.task(batch=4)
    async def small(n: int) -> int:
        return n

    @app.task()
    async def large(n: int) -> int:
        return n

    jobs = [await task.enqueue_many([{"n": n} for n in range(40)]) for task in (small, large)]
    async with working() as inside:
        for job in jobs:
            await job.wait(60)
        labels = {stage_id: stage.label for stage_id, stage in inside.runner.stages.items()}
    claims: dict[str, list[int]] = {"small": [], "large": []}
    for told in heard.named("tasks.claimed"):
        claims[labels[told["stage"]]].append(told["count"])
    assert max(claims["small"]) <= 4 and sum(claims["small"]) == 40
    assert max(claims["large"]) > 4


async def test_a_throttled_stage_starts_its_number_per_cycle_also_when_the_profile_is_not_paced(
    app: Penstock, working: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.use(app.settings.model_copy(update={"coordination_seconds": 0.3}), app.events)
    began: list[float] = []
    starts: list[float] = []
    unthrottled: list[float] = []
    cycle = Coordinator.cycle
    monkeypatch.setattr(Coordinator, "cycle", lambda self: (began.append(time.monotonic()), cycle(self))[1])

    @app.task(throttle=2)
    async def rare(n: int) -> int:
        starts.append(time.monotonic())
        return n

    @app.task()
    async def often(n: int) -> int:
        unthrottled.append(time.monotonic())
        return n

    job = await rare.enqueue_many([{"n": n} for n in range(7)])
    quick = await often.enqueue_many([{"n": n} for n in range(50)])
    async with working():
        await quick.wait(60)
        await job.wait(60)
    began.append(time.monotonic())
    per_cycle, others = [
        [sum(a <= one < b for one in some) for a, b in pairwise(began)] for some in (starts, unthrottled)
    ]
    assert sum(per_cycle) == 7 and max(per_cycle) == 2
    assert sum(others) == 50 and max(others) > 4


def test_a_cycle_gives_every_throttled_stage_its_own_number() -> None:
    held = Held()
    inboxes = {stage: Inbox(held=held, size=10) for stage in (1, 2)}
    for stage, inbox in inboxes.items():
        inbox.offer([Claimed.of(task_id=stage * 10 + n, lease=1, lane=1, stage=stage) for n in range(5)], {})
    pools: Any = [SimpleNamespace(stage=SimpleNamespace(id=n), idle_count=5, wake=lambda count: count) for n in (1, 2)]
    coordinator = Coordinator(pools={pool.stage.id: pool for pool in pools}, inboxes=inboxes, per_cycle={1: 2})
    assert coordinator.next_for(pools[0]) is None  # no cycle has begun
    assert coordinator.cycle() == 2 + 5
    taken = [coordinator.next_for(pools[0]) for _ in range(4)]
    assert [one is not None for one in taken] == [True, True, False, False]
    assert coordinator.next_for(pools[1]) is not None
    assert coordinator.run_once() == 0 + 4  # an arrival does not begin a cycle
    coordinator.cycle()
    assert coordinator.next_for(pools[0]) is not None


async def test_the_paced_profile_throttles_every_stage_and_a_stage_may_say_its_own_number(app: Penstock) -> None:
    three_stages(app, form={"throttle": 7})
    await app.open()
    stages = served_stages(app.pipelines.values(), app.stage_ids, app.settings)
    by_name = {stage.id: stage.definition.name for stage in stages}

    def named(settings: Settings) -> dict[str, int]:
        return {by_name[stage]: count for stage, count in throttles(settings, stages).items()}

    assert named(app.settings) == {"form": 7}
    assert named(app.settings.model_copy(update={"profile": "paced"})) == {"read": 3, "form": 7, "ask": 3}


async def test_the_policy_is_stored_for_people_to_read(app: Penstock) -> None:
    three_stages(app, form={"order": 5, "batch": 20, "throttle": 2, "pool": 3, "timeout": 9})
    await app.open()
    async with app.connection() as connection:
        views = {view.stage: view for view in (await overview(connection)).stages}
    shown = views["form"].policy
    assert {name: shown[name] for name in ("order", "batch", "throttle", "pool", "timeout_seconds")} == {
        "order": 5,
        "batch": 20,
        "throttle": 2,
        "pool": 3,
        "timeout_seconds": 9.0,
    }
    assert views["read"].policy["throttle"] is None


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"throttle": 0}, {"throttle": -3}])
def test_a_batch_or_throttle_below_one_is_refused_with_its_value(app: Penstock, wrong: dict[str, int]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidDefinition, match=f"{name} = {value} has to be at least 1"):

        @app.task(**wrong)
        async def never() -> None: ...


async def test_other_stages_go_on_while_one_waits_for_its_cycle(app: Penstock, working: Any) -> None:
    app.use(app.settings.model_copy(update={"coordination_seconds": 3600}), app.events)

    @app.task(throttle=1)
    async def rare(n: int) -> int:
        return n

    @app.task()
    async def often(n: int) -> int:
        return n

    async with working():
        held = await rare.enqueue_many([{"n": n} for n in range(3)])
        assert await asyncio.gather(*[(await often.enqueue(n)).result(60) for n in range(20)]) == list(range(20))
        counts = await held.counts()
    assert counts.done <= 1


async def test_a_task_may_ask_for_more_looks_than_the_settings(database_url: str) -> None:
    """Nobody tells the worker of the task, and by its settings it would not look again for an hour."""
    settings = load(database_url=database_url, listen=False, poll_min_seconds=60, poll_max_seconds=3600)
    app = Penstock("poll", settings=settings)

    @app.task(poll=0.05)
    async def looked_for() -> str:
        return "found"

    async with app, worker(app) as running:
        assert running.runner is not None
        looked = running.runner.discovery.polled_at
        async with asyncio.timeout(60):
            while running.runner.discovery.polled_at == looked:  # it has seen that there is nothing
                await asyncio.sleep(0.01)
        task = await looked_for.enqueue()
        assert await task.result(timeout=60) == "found"
    with pytest.raises(InvalidDefinition, match="poll = 0"):
        app.task(name="never", poll=0)(looked_for)
