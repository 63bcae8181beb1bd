"""What workers tell about their brokers, and who repeats it: `why`, doctor, the lists, metrics."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from typing import Any, NoReturn

import pytest

from penstock.brokers.stage_transports import queues_of, stage_transport
from penstock.cli.stages import as_row, described
from penstock.config import load
from penstock.errors import DatabaseError
from penstock.insight.doctor import CHECKS, examine
from penstock.insight.overview import overview
from penstock.insight.stage_views import StageView
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition, RunnerView
from tests.brokers.world import World, eventually, made_world

NOBODY = "redis://127.0.0.1:1/0"


async def told(world: World, label: str) -> dict[str, Any]:
    """Of the stage, by the last heartbeat of the only live worker."""
    status = json.loads(await world.value("select status::text from penstock.workers where stopped_at is null") or "{}")
    found: dict[str, Any] = status.get("stages", {}).get(label, {})
    return found


@pytest.fixture
async def away(database_url: str) -> AsyncIterator[World]:
    """Nobody listens where its broker should be."""
    made = made_world(database_url, "redis", NOBODY)
    yield made
    await made.app.close()


@pytest.fixture
async def refused(database_url: str, redis_url: str) -> AsyncIterator[World]:
    """A password for a Redis that has none."""
    made = made_world(database_url, "redis", redis_url.replace("redis://", "redis://:wrong@"))
    yield made
    await made.app.close()


async def test_the_heartbeat_tells_of_a_broker_that_works(database_url: str, redis_url: str) -> None:
    world = made_world(database_url, "redis", redis_url, broker_patience_seconds=3600.0)

    @world.app.task()
    async def quiet() -> None: ...

    async with world.working():
        await (await quiet.enqueue()).result(timeout=60)

        async def heard() -> dict[str, Any]:
            seen = await told(world, "quiet")
            return seen if "silent_seconds" in seen else {}

        seen = await eventually(heard, what="a heartbeat")
        assert (seen["transport"], seen["bypassed"], seen["away_seconds"]) == ("redis", False, 0.0)
        assert seen["queue"] == await world.queue("quiet")
        assert "problem" not in seen
    await world.app.close()


async def test_the_heartbeat_tells_of_a_broker_that_is_away_and_is_passed_by(away: World) -> None:
    @away.app.task()
    async def lonely() -> None: ...

    async with away.working():

        async def passed_by() -> dict[str, Any]:
            seen = await told(away, "lonely")
            return seen if seen.get("bypassed") else {}

        seen = await eventually(passed_by, what="a stage without its broker")
        assert seen["away_seconds"] > 0
        assert seen["refused"] is False
        assert "does not answer" in seen["problem"]


async def test_the_heartbeat_tells_of_a_broker_that_refuses(refused: World) -> None:
    @refused.app.task()
    async def denied() -> None: ...

    async with refused.working():

        async def no() -> dict[str, Any]:
            seen = await told(refused, "denied")
            return seen if seen.get("problem") else {}

        seen = await eventually(no, what="a refusal")
        assert seen["refused"] is True
        assert "refuses" in seen["problem"]
        assert "wrong" not in seen["problem"].split("refuses")[0], "the password is nobody's business"


async def _seen(world: World, label: str, what: str) -> dict[str, Any]:
    async def there() -> dict[str, Any]:
        seen = await told(world, label)
        return seen if seen.get(what) else {}

    found: dict[str, Any] = await eventually(there, what=f"{what} in a heartbeat")
    return found


async def _finding(world: World) -> tuple[str, str, str]:
    """Of the doctor, whose own settings name no broker."""
    settings = load(transport="postgres")
    async with world.app.connection() as connection:
        (one,) = await examine(connection, settings, checks=[one for one in CHECKS if one.name == "brokers in use"])
    return one.health, one.finding, one.fix or ""


async def test_the_doctor_repeats_what_workers_say_with_the_step_that_fits(refused: World) -> None:
    @refused.app.task()
    async def denied() -> None: ...

    async with refused.working():
        await _seen(refused, "denied", "problem")
        health, finding, fix = await _finding(refused)
        assert (health, "refuses" in finding) == ("bad", True)
        assert "password in PENSTOCK_REDIS_URL" in fix
        assert "Start the broker" not in fix
        assert "does not answer" not in finding
    assert (await _finding(refused))[:2] == ("ok", "No live worker uses a broker.")


async def test_the_doctor_says_to_start_a_broker_that_is_away(away: World) -> None:
    @away.app.task()
    async def lonely() -> None: ...

    async with away.working():
        await _seen(away, "lonely", "problem")
        health, finding, fix = await _finding(away)
        assert (health, "does not answer" in finding, "Start the broker" in fix) == ("bad", True, True)


async def test_the_stage_lists_show_the_transport_of_the_workers(away: World) -> None:
    @away.app.task()
    async def lonely() -> None: ...

    here = load(transport="postgres")
    async with away.working():
        await _seen(away, "lonely", "bypassed")
        async with away.app.connection() as connection:
            seen = await overview(connection, here)
        (view,) = seen.stages
        assert (view.transport, view.told_by.configured_here, view.told_by.bypassed) == ("redis", False, True)
        assert as_row(view)["told_by"].startswith("redis (bypassed: away for ")
        assert any("No worker has reached redis for" in one.sentence for one in seen.attention)
        queue = await away.queue("lonely")
        assert f"queues       {{{queue}}}.high, {{{queue}}}.normal, {{{queue}}}.low" in described(
            view, [], seen.read_at
        )
    async with away.app.connection() as connection:
        (view,) = (await overview(connection, here)).stages
    assert as_row(view)["told_by"] == "postgres (configured here)"


def test_a_stage_that_hears_nothing_is_shown_as_passed_by_only_while_tasks_wait() -> None:
    said = {"transport": "redis", "bypassed": True, "silent_seconds": 40.0, "away_seconds": 0.0, "queue": "q"}
    told_by = stage_transport([said], configured="postgres")
    empty: dict[str, Any] = {one.name: None for one in fields(StageView)} | {
        "pipeline": "a",
        "stage": "a",
        "workers": 1,
        "in_broker": 0,
    }
    idle = StageView(**{**empty, "told_by": told_by})
    assert as_row(idle)["told_by"] == "redis"
    assert as_row(replace(idle, oldest_wait_seconds=3.0))["told_by"] == "redis (bypassed: silent for 40 s)"


def test_queues_are_named_as_the_brokers_show_them() -> None:
    assert queues_of("redis", "penstock.5fc9ca69.25")[1] == "{penstock.5fc9ca69.25}.normal"
    assert queues_of("rabbitmq", "penstock.5fc9ca69.25")[1] == "penstock.5fc9ca69.25.normal"
    assert queues_of("postgres", "penstock.5fc9ca69.25") == ()


async def test_a_gauge_grows_while_a_broker_is_away() -> None:
    def no_database() -> NoReturn:
        raise DatabaseError("none in this test")

    stage = {"processors": {}, "inbox": 0, "transport": "redis"}
    views = [
        RunnerView(worker=1, ready=True, told_at=time.monotonic() - 5, status={"stages": {"a": seen}})
        for seen in ({**stage, "away_seconds": 7.0}, {**stage, "away_seconds": 0.0})
    ]

    async def shown(runners: list[RunnerView]) -> float:
        text = (await Exposition(counter=Counter(), connect=no_database, runners=lambda: runners).render()).decode()
        (line,) = [
            one for one in text.splitlines() if one.startswith('penstock_broker_away_seconds{transport="redis"}')
        ]
        return float(line.split()[1])

    assert 12.0 <= await shown(views) < 20.0
    assert await shown(views[1:]) == 0.0
