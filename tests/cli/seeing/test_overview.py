"""`penstock status`, `top` and `demo`"""

import asyncio
import os

import asyncpg
import pytest

from penstock import Penstock
from penstock.insight.overview import overview
from penstock.storage import counts
from tests.cli.seeing.command_line import CommandLine
from tests.warm import warm_starts


async def test_status_of_an_empty_database_says_what_to_start(
    penstock: CommandLine, connection: asyncpg.Connection
) -> None:
    text = (await penstock("status")).stdout
    own_name = (await connection.fetchval("show server_version")).split()[0]
    assert f"PostgreSQL {own_name}, database" in text
    assert "No worker is running" in text
    assert "penstock up" in text
    assert "No stages yet" in text


async def test_status_counts_what_waits_without_counting_the_queue(
    penstock: CommandLine, shop: Penstock, connection: asyncpg.Connection
) -> None:
    for _ in range(3):
        await shop.enqueue("greet", {"name": "a"})
    await shop.enqueue("greet", {"name": "b"}, delay=50_000, lane="later")
    await connection.execute("update penstock.queue set run_at = run_at - interval '2 hours' where run_at <= now()")
    stages = {row["stage"]: row for row in (await penstock.json("status"))["stages"]}
    assert (stages["greet"]["waiting"], stages["greet"]["running"]) == (4, 0)
    assert 7200 <= stages["greet"]["oldest_wait_seconds"] < 7800
    assert stages["sleep"]["oldest_wait_seconds"] is None
    text = (await penstock("status")).stdout
    assert "4 waiting (oldest 2h0" in text


async def test_status_shows_workers_rates_and_failures(
    penstock: CommandLine, open_shop: Penstock, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [await open_shop.enqueue("greet", {"name": "a"}) for _ in range(5)]
    bad = await open_shop.enqueue("fail", {})
    for task in [*good, bad]:
        await task.wait(60)
    while await counts.fold(connection, 1000):
        pass
    found = await overview(connection)
    stages = {view.label: view for view in found.stages}
    assert len(found.workers) == 1
    assert stages["greet"].workers == 1
    assert stages["greet"].ended_per_second > 0
    assert stages["fail"].failed_last_hour == 1
    assert "two/first" in stages
    await penstock("stages", "pause", "greet")
    for _ in range(3):
        await open_shop.enqueue("greet", {"name": "a"})
    [greet] = [view for view in (await overview(connection)).stages if view.label == "greet"]
    assert (greet.eta_seconds, (greet.eta_cause or "").startswith("paused by ")) == (None, True)
    monkeypatch.setattr("penstock.insight.overview.cause_of", lambda *_: None)  # as if nothing stopped it
    [greet] = [view for view in (await overview(connection)).stages if view.label == "greet"]
    assert greet.eta_seconds == pytest.approx(3 / greet.ended_per_second)
    text = (await penstock("status")).stdout
    assert "1 task of fail failed in the last hour" in text
    assert "newest dead letters" in text


async def test_paused_things_need_attention(
    shop: Penstock, connection: asyncpg.Connection, penstock: CommandLine
) -> None:
    await shop.enqueue("greet", {"name": "a"}, lane="vip")
    await penstock("stages", "pause", "sleep", "--reason", "repairs")
    await penstock("lanes", "pause", "greet", "vip")
    sentences = [one.sentence for one in (await overview(connection)).attention]
    assert any("Stage sleep is paused by" in one and "repairs" in one for one in sentences)
    assert "1 lane of greet with tasks is paused." in sentences


async def test_top_once_is_the_status(penstock: CommandLine, shop: Penstock) -> None:
    assert "stage" in (await penstock("top", "--once")).stdout
    assert {one["stage"] for one in (await penstock.json("top", "--once"))["stages"]} >= {"greet", "first"}


async def _demo(database_url: str, *arguments: str) -> tuple[int, str, str]:
    """In a process of its own: the demo application is one object per process, and the worker here has it."""
    env = {**os.environ, "PENSTOCK_DATABASE_URL": database_url}
    ran = await asyncio.to_thread(warm_starts().run, ["demo", "-o", "json", *arguments], env=env, seconds=90)
    return ran.returncode, ran.stdout, ran.stderr


async def test_the_demo_without_a_worker_says_what_to_start_and_stores_nothing(
    database_url: str, connection: asyncpg.Connection
) -> None:
    code, _, said = await _demo(database_url)
    assert code == 4
    assert "penstock up" in said
    assert await connection.fetchval("select count(*) from penstock.tasks") == 0
