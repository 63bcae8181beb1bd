"""Run times, success and failure rates and retries per stage, as people and Prometheus see them."""

import asyncio
from typing import Any

import pytest

from penstock import NotFound, Penstock, PermanentError, RetryPolicy
from penstock.insight.overview import overview
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition
from penstock.storage import counts, statistics


async def test_a_stage_shows_its_run_time_rates_and_retries(
    app: Penstock, working: Any, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was measured last is stored when the worker stops.
    monkeypatch.setattr("penstock.workers.measuring._PATIENCE_SECONDS", 60.0)
    tries: dict[int, int] = {}
    pipe = app.pipeline("pipe")

    @pipe.stage("read", retry=RetryPolicy(base_seconds=0.01, factor=1, cap_seconds=0.01))
    async def read(n: int) -> Any:
        await asyncio.sleep(0.05)
        tries[n] = tries.get(n, 0) + 1
        if n == 0:
            raise PermanentError("it is gone")
        if n == 1:
            return NotFound("nothing there")
        if n == 2 and tries[n] < 3:
            raise ValueError("not yet")
        return n

    @pipe.stage("form")
    async def form(n: int) -> int:
        return n

    async with working():
        await (await pipe.enqueue_many([{"n": n} for n in range(10)])).wait(60)
    while await counts.fold(connection, 1000):
        pass
    stages = {view.label: view for view in (await overview(connection)).stages}
    seen = stages["pipe/read"]
    assert (seen.runs_last_hour, seen.retries_last_hour) == (12, 2)
    assert seen.mean_run_seconds == seen.mean_run_seconds_last_minute
    assert seen.mean_run_seconds is not None and seen.mean_run_seconds >= 0.05
    assert (seen.success_rate, seen.failure_rate) == (0.8, 0.1)
    assert (stages["pipe/form"].success_rate, stages["pipe/form"].failure_rate) == (1.0, 0.0)
    text = (await Exposition(counter=Counter(), connect=app.connection, runners=lambda: []).render()).decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['penstock_stage_success_ratio{stage="pipe/read"}']) == 0.8
    assert float(lines['penstock_stage_failure_ratio{stage="pipe/read"}']) == 0.1
    assert float(lines['penstock_stage_retries_last_hour{stage="pipe/read"}']) == 2
    for window in ("hour", "minute"):
        shown = float(lines[f'penstock_stage_run_seconds_mean{{stage="pipe/read",window="{window}"}}'])
        assert shown == pytest.approx(seen.mean_run_seconds)
    assert lines['penstock_stage_waiting{stage="pipe/read"}'] == "0.0"


async def test_a_stage_that_did_nothing_has_no_rates(app: Penstock, connection: Any) -> None:
    @app.task()
    async def idle() -> None: ...

    await app.open()
    (seen,) = (await overview(connection)).stages
    assert (seen.mean_run_seconds, seen.success_rate, seen.failure_rate) == (None, None, None)
    assert (seen.runs_last_hour, seen.retries_last_hour) == (0, 0)


async def test_what_several_runners_measure_adds_up_and_leaves_the_hour(app: Penstock, connection: Any) -> None:
    @app.task()
    async def work() -> None: ...

    await app.open()
    stage = app.stage_ids[("work", "work")]
    one = [(stage, statistics.RUNS, 2), (stage, statistics.RETRIES, 1), (stage, statistics.RUN_MS, 500)]
    for _ in range(3):
        await statistics.add(connection, one)
    await connection.execute("update penstock.statistics set minute = minute - interval '10 minutes'")
    await statistics.add(connection, [(stage, statistics.RUNS, 1), (stage, statistics.RUN_MS, 1000)])
    (seen,) = (await overview(connection)).stages
    assert (seen.runs_last_hour, seen.retries_last_hour) == (7, 3)
    assert seen.mean_run_seconds == pytest.approx(2.5 / 7)
    assert seen.mean_run_seconds_last_minute == pytest.approx(1.0)
    await connection.execute("update penstock.statistics set minute = minute - interval '61 minutes'")
    assert (await overview(connection)).stages[0].mean_run_seconds is None
