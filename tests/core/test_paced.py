"""The paced profile as it runs, with every one of its times divided by the same number."""

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest

from penstock import Penstock, RetryPolicy, State
from penstock.config import Settings
from penstock.core.claim import Claimer
from penstock.workers.coordinator import Coordinator

FASTER = 200
_TIMES = (
    "discovery_seconds",
    "coordination_seconds",
    "health_seconds",
    "cleanup_seconds",
    "minimum_age_seconds",
    "timeout_seconds",
)
AT_ONCE = RetryPolicy(base_seconds=1 / FASTER, factor=1, cap_seconds=1 / FASTER)


def fast(settings: Settings) -> Settings:
    """The defaults of the profile, only quicker."""
    plain = {name: Settings.model_fields[name].default / FASTER for name in _TIMES}
    return settings.model_copy(update={"profile": "paced", **plain})


@pytest.fixture
def cycles(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the coordination cycles began."""
    began: list[float] = []
    cycle = Coordinator.cycle

    def noted(self: Coordinator) -> int:
        began.append(time.monotonic())
        return cycle(self)

    monkeypatch.setattr(Coordinator, "cycle", noted)
    return began


async def test_three_starts_per_stage_and_cycle_batches_of_ten_and_nothing_that_is_young(
    app: Penstock, working: Any, heard: Any, cycles: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    app.use(fast(app.settings), app.events)
    starts: dict[str, list[float]] = {"read": [], "form": []}
    claimed_at: dict[tuple[int, int], float] = {}
    app.events.add(
        lambda event: claimed_at.update(
            {(event.data["stage"], one): time.time() for one in event.data["tasks"]}
            if event.name == "tasks.claimed"
            else {}
        )
    )
    pipe = app.pipeline("pipe")

    @pipe.stage("read")
    async def read(n: int) -> int:
        starts["read"].append(time.monotonic())
        return n

    @pipe.stage("form")
    async def form(n: int) -> int:
        starts["form"].append(time.monotonic())
        return n

    single: list[Any] = []
    claim = Claimer.claim

    async def noted(self: Claimer, room: Any, announced: Any) -> Any:
        """Three come right before each look: without a least age they would be claimed young."""
        if counts is not None and len(single) < 15:
            single.extend([await pipe.enqueue(n=len(single) + n) for n in range(3)])
            if len(single) == 15:
                all_there.set()
        return await claim(self, room, announced)

    monkeypatch.setattr(Claimer, "claim", noted)
    counts: Any = None
    all_there = asyncio.Event()
    async with working() as inside:
        job = await pipe.enqueue_many([{"n": n} for n in range(15)])
        counts = await job.wait(60)
        await asyncio.wait_for(all_there.wait(), 60)
        await asyncio.gather(*(one.result(60) for one in single))
        stages = dict(inside.runner.stages)
    cycles.append(time.monotonic())
    assert counts.done == 15
    for begun in starts.values():
        assert len(begun) == 30
        per_cycle = [sum(a <= one < b for one in begun) for a, b in pairwise(cycles)]
        assert max(per_cycle) <= 3
    claims = heard.named("tasks.claimed")
    assert max(told["count"] for told in claims) <= 10
    async with app.connection() as connection:
        created = {
            row["id"]: row["at"]
            for row in await connection.fetch(
                "select id, extract(epoch from created_at)::float8 as at from penstock.tasks"
            )
        }
        moved = {
            row["task_id"]: row["at"]
            for row in await connection.fetch(
                "select task_id, extract(epoch from at)::float8 as at from penstock.checkpoints"
            )
        }
    for (stage, task_id), at in claimed_at.items():
        since = created[task_id] if stages[stage].first else moved[task_id]
        assert at - since >= 30 / FASTER
    assert len(claimed_at) == 60


async def test_discovery_health_and_clean_up_keep_their_intervals(
    app: Penstock, working: Any, heard: Any, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.use(fast(app.settings), app.events)
    looks: list[float] = []
    reports: list[float] = []
    cleaned: set[Any] = set()
    app.events.add(lambda event: reports.append(time.monotonic()) if event.name == "worker.health" else None)

    @app.task()
    async def idle() -> None: ...

    claim = Claimer.claim

    async def noted(self: Claimer, room: Any, announced: Any) -> Any:
        looks.append(time.monotonic())
        return await claim(self, room, announced)

    monkeypatch.setattr(Claimer, "claim", noted)
    begun = time.monotonic()
    async with working(), asyncio.timeout(60):
        while len(cleaned) < 3 or min(len(looks), len(reports)) < 2:
            at = await connection.fetchval("select ran_at from penstock.duties where name = 'deactivate lanes'")
            cleaned |= {at} - {None}
            await asyncio.sleep(0.02)
    took = time.monotonic() - begun
    gaps = [(b - a).total_seconds() for a, b in pairwise(sorted(cleaned))]
    assert all(gap >= 300 / FASTER * 0.9 for gap in gaps), gaps
    # How many fit into the time is for the machine to say; never more than the intervals allow. Two may be close
    # together: one that was late, and the next at its time (tests/unit/test_beat.py).
    assert 2 <= len(looks) <= took / (60 / FASTER) + 2
    assert 2 <= len(reports) <= took / (30 / FASTER) + 1


async def test_what_hangs_ends_as_an_error_after_three_tries_of_the_timeout_each(app: Penstock, working: Any) -> None:
    app.use(fast(app.settings), app.events)

    @app.task(retry=AT_ONCE)
    async def hangs() -> None:
        await asyncio.sleep(3600)

    async with working():
        task = await hangs.enqueue()
        state, _, error = await task.wait(60)
        history = (await task.details())["history"]
    assert state is State.ERROR
    assert error is not None and error["class"] == "timeout"
    assert [one["cause"] for one in history] == ["timeout", "timeout"]
    assert f"{300 / FASTER:g} s" in error["message"]
