"""`/api/history` and what `/api/overview` adds up: kept statistics only."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock import Penstock, PermanentError
from penstock.config import Settings
from penstock.console.http.app import create
from penstock.storage import counts
from penstock.upkeep.duties import note_standing
from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service


class Shop:
    def __init__(self, settings: Settings) -> None:
        self.app = Penstock("shop", settings=settings)
        self.pipe = self.app.pipeline("shop")

        @self.pipe.stage("fetch")
        async def fetch(n: int) -> int:
            await asyncio.sleep(0.01)
            if n == 0:
                raise PermanentError("there is none")
            return n

        @self.pipe.stage("store")
        async def store(n: int) -> int:
            return n

        @self.app.task()
        async def slow(ctx: Any) -> None:
            async with ctx.limiter("supplier"):
                pass


@pytest.fixture
async def shop(database_url: str) -> Shop:
    return Shop(Settings(database_url=database_url, log_level="warning", heartbeat_seconds=0.2))


@pytest.fixture
async def service(shop: Shop) -> AsyncIterator[Service]:
    api = create(shop.app)
    async with api.router.lifespan_context(api):
        made = Service(shop.app, api)
        for name, role in (("ann", "operator"), ("eve", "viewer")):
            await made.add_user(name, role)
        async with made._open:
            yield made


async def folded(shop: Shop) -> None:
    async with shop.app.connection() as connection:
        while await counts.fold(connection, 1000):
            pass


def sums(points: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(point[name] for point in points) for name in ("enqueued", "done", "failed", "endedOtherwise")}


async def test_the_last_hour_is_told_minute_by_minute_as_a_whole_and_per_stage(
    service: Service, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was measured last is stored when the worker stops.
    monkeypatch.setattr("penstock.workers.measuring._PATIENCE_SECONDS", 60.0)
    ann = await service.client("ann")
    begun = time.monotonic()
    async with InProcessWorker(shop.app):
        await (await shop.pipe.enqueue_many([{"n": n} for n in range(10)])).wait(60)
    took = time.monotonic() - begun
    await folded(shop)
    whole = (await ann.get("/api/history")).json()
    assert whole["stepMinutes"] == 1
    assert len(whole["points"]) == 60
    assert sums(whole["points"]) == {"enqueued": 10, "done": 9, "failed": 1, "endedOtherwise": 0}
    fetch = (await ann.get("/api/history", params={"pipeline": "shop", "stage": "fetch"})).json()["points"]
    assert sums(fetch) == {"enqueued": 10, "done": 9, "failed": 1, "endedOtherwise": 0}
    store = (await ann.get("/api/history", params={"pipeline": "shop", "stage": "store"})).json()["points"]
    assert sums(store) == {"enqueued": 9, "done": 9, "failed": 0, "endedOtherwise": 0}
    (measured,) = [point for point in fetch if point["runMeanSeconds"] is not None][-1:]
    assert 0.01 <= measured["runMeanSeconds"] <= took
    assert 0.008 <= measured["runP95Seconds"] <= took * 2
    assert any(point["waitP95Seconds"] is not None for point in fetch)
    seen = (await ann.get("/api/overview")).json()["totals"]
    assert (seen["failedLastHour"], seen["waiting"], seen["running"]) == (1, 0, 0)
    assert seen["runP95Seconds"] is not None


async def test_the_backlog_is_noted_and_unknown_where_nobody_looked(service: Service, shop: Shop) -> None:
    eve = await service.client("eve")
    await shop.pipe.options(owner="eve").enqueue_many([{"n": n} for n in range(7)])
    before = (await eve.get("/api/history", params={"pipeline": "shop"})).json()["points"]
    assert {point["waiting"] for point in before} == {None}
    async with shop.app.connection() as connection:
        assert await note_standing(connection) == {"stages": 1}
        # Of two looks in one minute the higher counts.
        await connection.execute("delete from penstock.queue")
        await connection.execute("delete from penstock.counts")
        await note_standing(connection)
    after = (await eve.get("/api/history", params={"pipeline": "shop"})).json()["points"]
    assert 7 in {point["waiting"] for point in after}
    idle = (await eve.get("/api/history", params={"pipeline": "slow"})).json()["points"]
    assert 0 in {point["waiting"] for point in idle}


async def test_a_day_comes_in_wider_steps_without_a_gap(service: Service) -> None:
    eve = await service.client("eve")
    day = (await eve.get("/api/history", params={"minutes": 1440})).json()
    assert (day["stepMinutes"], len(day["points"])) == (15, 96)
    assert (await eve.get("/api/history", params={"minutes": 1441})).status_code == 422


async def test_a_stage_that_nobody_knows_is_refused(service: Service) -> None:
    eve = await service.client("eve")
    assert (await eve.get("/api/history", params={"stage": "fetch"})).status_code == 400
    assert (await eve.get("/api/history", params={"pipeline": "none"})).status_code == 404
    assert (await eve.get("/api/history", params={"pipeline": "shop", "stage": "none"})).status_code == 404


async def test_the_overview_holds_ones_newest_jobs_and_names_what_needs_attention(service: Service, shop: Shop) -> None:
    ann, eve = await service.client("ann"), await service.client("eve")
    job = await shop.pipe.options(owner="ann").enqueue_many([{"n": 1}])
    assert (await ann.post("/api/stages/shop/fetch/pause", json={"reason": "new prices"})).status_code == 200
    seen = (await ann.get("/api/overview")).json()
    assert [one["jobId"] for one in seen["newestJobs"]] == [job.id]
    assert (await eve.get("/api/overview")).json()["newestJobs"] == []
    assert {(one["about"], one["stage"]) for one in seen["attention"]} == {("workers", None), ("paused", "fetch")}
    (fetch,) = [one for one in seen["stages"] if one["stage"] == "fetch"]
    assert fetch["etaCause"] == "paused by ann: new prices"


async def test_a_stage_that_a_limit_holds_up_names_the_limit(service: Service, shop: Shop) -> None:
    ann = await service.client("ann")
    await ann.put("/api/limits", json={"key": "supplier", "rate": 0.1})
    async with InProcessWorker(shop.app):
        for _ in range(5):
            await shop.app.enqueue("slow", {})
        async with asyncio.timeout(60):
            while (seen := (await ann.get("/api/stages/slow/slow")).json())["heldUpBy"] is None:
                await asyncio.sleep(0.05)
        workers = (await ann.get("/api/workers")).json()["items"]
    assert (seen["etaCause"], seen["heldUpBy"]) == ("limited by supplier 0.1/s", "supplier")
    assert [one["worker"] for one in seen["decisions"]] == [one["name"] for one in workers]
    assert workers[0]["memoryBytes"] > 1_000_000
    assert not workers[0]["late"]


async def test_a_limit_tells_when_it_opens_and_how_often_it_was_penalised(service: Service) -> None:
    ann = await service.client("ann")
    await ann.put("/api/limits", json={"key": "supplier", "rate": 5})
    (free,) = (await ann.get("/api/limits")).json()["items"]
    assert (free["opensInSeconds"], free["penalties"], free["penaltyReason"]) == (0, 0, None)
    for _ in range(2):
        await ann.post("/api/limits/block", json={"key": "supplier", "seconds": 3000, "reason": "HTTP 429"})
    (closed,) = (await ann.get("/api/limits")).json()["items"]
    assert 2900 < closed["opensInSeconds"] <= 3000
    assert (closed["penalties"], closed["penaltyReason"]) == (2, "HTTP 429")
