"""A processor that is busy beyond its deadline: it reads error, its task is released with the cause, it is idle again.

What lets go when asked does so inside the runner. What does not is killed by the supervisor (tests/crash/test_stuck).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock import Context, Penstock, RetryPolicy, State
from penstock.insight.overview import of_stage, overview
from penstock.workers.inprocess import InProcessWorker
from tests.core.stuck_handlers import sleeps_alone

LATER = RetryPolicy(base_seconds=60)


async def until(reached: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await reached():
            await asyncio.sleep(0.02)


async def processors(app: Penstock, label: str) -> tuple[dict[str, int], list[tuple[str, str, int]]]:
    """As people see them: counts by state, and (name, state, task) of those that are not idle."""
    async with app.connection() as connection:
        view, busy = of_stage(await overview(connection), label)
    return dict(view.processors), [(one.name, one.state, one.task_id) for _, one in busy]


async def test_a_busy_processor_is_named_with_its_task_and_since_when(app: Penstock, working: Any) -> None:
    pipe, gate = app.pipeline("sites"), asyncio.Event()

    @pipe.stage("website-analysis")
    async def analyse(n: int) -> None:
        await gate.wait()

    async with working():
        task = await pipe.enqueue(n=1)

        async def seen() -> bool:
            return bool((await processors(app, "sites/website-analysis"))[1])

        await until(seen)
        states, busy = await processors(app, "sites/website-analysis")
        async with app.connection() as connection:
            found = await overview(connection)
        gate.set()
        await task.result(60)
        await until(lambda: _idle(app, "sites/website-analysis", 10))
    assert states == {"idle": 9, "busy": 1, "error": 0}
    ((name, state, task_id),) = busy
    assert name in {f"website-analysis-processor-{n}" for n in range(1, 11)}
    assert (state, task_id) == ("busy", task.id)
    ((_, one),) = of_stage(found, "sites/website-analysis")[1]
    assert 0 <= (found.read_at - one.since).total_seconds() < 60


async def _idle(app: Penstock, label: str, count: int) -> bool:
    states, busy = await processors(app, label)
    return states.get("idle") == count and not busy


async def _error(app: Penstock, label: str, task_id: int) -> bool:
    return any(state == "error" and task == task_id for _, state, task in (await processors(app, label))[1])


async def released_as_timeout(app: Penstock, task: Any) -> None:
    async def done() -> bool:
        return await task.state() is State.PENDING and bool((await task.details())["history"])

    await until(done)
    history = (await task.details())["history"]
    assert [(one["cause"], one["burned"]) for one in history] == [("timeout", True)]


async def test_a_stuck_async_handler_reads_error_until_it_lets_go_and_its_task_is_released(
    app: Penstock, working: Any
) -> None:
    leaving, gate = asyncio.Event(), asyncio.Event()

    @app.task(timeout=0.3, pool=1, retry=LATER)
    async def clings() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            leaving.set()
            await gate.wait()

    async with working():
        task = await clings.enqueue()
        await asyncio.wait_for(leaving.wait(), 60)
        await until(lambda: _error(app, "clings", task.id))
        assert await task.state() is State.PROCESSING
        gate.set()
        await released_as_timeout(app, task)
        await until(lambda: _idle(app, "clings", 1))


async def test_a_stuck_thread_is_asked_reads_error_and_is_idle_when_it_has_looked(app: Penstock, working: Any) -> None:
    gate: list[bool] = []

    @app.task(timeout=0.3, pool=1, retry=LATER)
    def loops(ctx: Context) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if gate and ctx.cancelled:
                raise RuntimeError("it was asked to stop")
            time.sleep(0.01)

    async with working():
        task = await loops.enqueue()
        await until(lambda: _error(app, "loops", task.id))
        gate.append(True)
        await released_as_timeout(app, task)
        await until(lambda: _idle(app, "loops", 1))


async def test_a_stuck_handler_with_a_process_of_its_own_is_killed_and_its_processor_is_idle(
    app: Penstock, working: Any
) -> None:
    alone = app.task(timeout=0.5, pool=1, retry=LATER, isolated=True)(sleeps_alone)
    async with working():
        task = await alone.enqueue()
        await released_as_timeout(app, task)
        await until(lambda: _idle(app, "sleeps_alone", 1))


async def test_the_health_report_reaches_people_with_what_is_stuck(
    app: Penstock, working: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at deadlines is switched off, so that health finds what it should have found."""
    app.use(app.settings.model_copy(update={"health_seconds": 0.5, "kill_grace_seconds": 0.2}), app.events)
    monkeypatch.setattr("penstock.workers.runner._DEADLINE_TICK_SECONDS", 3600)
    gate = asyncio.Event()

    @app.task(timeout=0.2, pool=1, retry=LATER)
    async def clings() -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    async def report() -> Any:
        async with app.connection() as connection:
            (worker,) = (await overview(connection)).workers
        return worker.health

    async def stuck() -> bool:
        seen = await report()
        return seen is not None and bool(seen.problems)

    async with working() as inside:
        assert isinstance(inside, InProcessWorker)
        await clings.enqueue()
        await until(stuck)
        seen = await report()
        gate.set()
    assert seen.stuck_processors == 1
    assert any("clings-processor-1 is" in one and "past its deadline" in one for one in seen.problems)
