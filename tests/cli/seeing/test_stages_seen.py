"""`penstock stages list|show`, `workers`, and the steps of a job."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.core.enqueue import EnqueueOptions
from penstock.events import Events
from penstock.insight.overview import overview
from penstock.storage import counts
from penstock.workers.inprocess import worker
from tests.cli.seeing import shop as declared
from tests.cli.seeing.command_line import CommandLine


async def test_a_stage_is_shown_with_policy_measures_and_busy_processors(
    penstock: CommandLine, database_url: str, connection: asyncpg.Connection
) -> None:
    app = declared.make()
    app.use(load(database_url=database_url, heartbeat_seconds=0.2), Events())
    async with app, worker(app):
        task = await app.enqueue("sleep", {"seconds": 3600})
        async with asyncio.timeout(60):
            while not any(one.at_work for one in (await overview(connection)).workers):
                await asyncio.sleep(0.05)
        shown = await penstock.json("stages", "show", "sleep")
        text = (await penstock("stages", "show", "sleep")).stdout
        await task.cancel()
    (busy,) = shown["at_work"]
    assert busy["name"].startswith("sleep-processor-")
    assert (busy["state"], busy["task_id"]) == ("busy", task.id)
    assert busy["worker"] and busy["since"]
    assert shown["processors"]["busy"] == 1
    assert busy["name"] in text and str(task.id) in text
    assert "1 busy" in text and "3 attempts" in text and "execution async" in text


async def test_measures_are_in_the_list_of_stages(
    penstock: CommandLine, shop: Penstock, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was measured last is stored when the worker stops.
    monkeypatch.setattr("penstock.workers.measuring._PATIENCE_SECONDS", 60.0)
    async with worker(shop):
        for name, arguments in (("greet", {"name": "a"}), ("fail", {})):
            await (await shop.enqueue(name, arguments)).wait(60)
    while await counts.fold(connection, 1000):
        pass
    rows = {row["label"]: row for row in await penstock.json("stages", "list")}
    assert (rows["greet"]["success_rate"], rows["greet"]["failure_rate"]) == (1.0, 0.0)
    assert (rows["fail"]["success_rate"], rows["fail"]["failure_rate"]) == (0.0, 1.0)
    assert rows["greet"]["runs_last_hour"] == 1 and rows["greet"]["mean_run_seconds"] is not None
    text = (await penstock("stages", "list")).stdout
    assert "success" in text and "retries/h" in text and "100 %" in text


async def test_a_stage_that_is_not_known_is_told_with_the_known_ones(penstock: CommandLine, shop: Penstock) -> None:
    ended = await penstock("stages", "show", "nowhere", code=3)
    assert "greet" in ended.stderr


async def test_workers_are_listed_with_their_last_health_report(
    penstock: CommandLine, database_url: str, connection: asyncpg.Connection
) -> None:
    assert "No worker is running" in (await penstock("workers")).stderr
    app = declared.make()
    app.use(load(database_url=database_url, heartbeat_seconds=0.2, health_seconds=0.3), Events())
    async with app, worker(app):
        async with asyncio.timeout(60):
            while not any(one.health for one in (await overview(connection)).workers):
                await asyncio.sleep(0.05)
        (row,) = await penstock.json("workers")
        text = (await penstock("workers")).stdout
    assert row["health"]["problems"] == [] and row["health"]["at"]
    assert "all is well" in text


async def test_a_job_is_shown_step_by_step_and_runs_again_from_a_stage(penstock: CommandLine, shop: Penstock) -> None:
    rows = [{"number": n} for n in range(3)]
    job = await shop.store_many(shop.pipelines["two"], rows, EnqueueOptions(), name=None, metadata={})
    before = await penstock.json("jobs", "show", job.id)
    assert (before["current_step"], before["progress"]) == ("not-started", 0.0)
    async with worker(shop):
        await job.wait(60)
    after = await penstock.json("jobs", "show", job.id)
    assert (after["current_step"], after["progress"]) == ("completed", 1.0)
    assert [step["done"] for step in after["steps"]] == [3, 3]
    again = await penstock.json("jobs", "reprocess", job.id, "--statuses", "done", "--from-stage", "second")
    assert again == {"job_id": job.id, "reprocessed": 3}
    text = (await penstock("jobs", "show", job.id)).stdout
    assert "50% of all stages" in text and "second" in text
    refused = await penstock("jobs", "reprocess", job.id, "--statuses", "pending", "--from-stage", "second", code=2)
    assert "pending" in refused.stderr
    await penstock("jobs", "reprocess", job.id, "--from-stage", "nowhere", code=3)


async def test_single_tasks_run_again_from_a_stage(penstock: CommandLine, shop: Penstock) -> None:
    task = await shop.enqueue("two", {"number": 4})
    async with worker(shop):
        await task.result(60)
    assert await penstock.json("tasks", "reprocess", task.id, "--from-stage", "second") == {"reprocessed": [task.id]}
    assert (await task.details())["stage"] == "second"
