"""Stages, processors, health and the steps of a job over HTTP; running again from a stage."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from penstock import Penstock, PermanentError
from penstock.config import Settings
from penstock.console.http.app import create
from penstock.workers.inprocess import InProcessWorker
from tests.console.conftest import Service

STAGE = "/api/stages/sites/website-analysis"


class Sites:
    """A pipeline of three stages whose handlers wait for a gate, fail for `bad`, and note what they ran."""

    def __init__(self, settings: Settings) -> None:
        self.app = Penstock("sites", settings=settings)
        self.gate = asyncio.Event()
        self.ran: list[str] = []
        self.pipe = self.app.pipeline("sites")

        @self.pipe.stage("website-analysis", version="1", batch=20, throttle=50, order=0, timeout=60)
        async def analyse(url: str) -> dict[str, str]:
            await self.gate.wait()
            self.ran.append("website-analysis")
            return {"url": url}

        @self.pipe.stage("prompt-forming", version="1")
        async def form(found: dict[str, str]) -> list[str]:
            self.ran.append("prompt-forming")
            if found["url"] == "bad":
                raise PermanentError("it has no facts")
            return [found["url"]]

        @self.pipe.stage("model-analysis", version="1")
        async def ask(prompts: list[str]) -> int:
            self.ran.append("model-analysis")
            return len(prompts)

    async def job(self, *urls: str) -> int:
        made = await self.pipe.options(owner="ann").enqueue_many([{"url": url} for url in urls])
        return made.id


@pytest.fixture
async def sites(database_url: str) -> Sites:
    return Sites(Settings(database_url=database_url, log_level="warning", heartbeat_seconds=0.2, health_seconds=0.3))


@pytest.fixture
async def service(sites: Sites) -> AsyncIterator[Service]:
    api = create(sites.app)
    async with api.router.lifespan_context(api):
        made = Service(sites.app, api)
        for name, role in (("ann", "operator"), ("bob", "operator"), ("root", "admin")):
            await made.add_user(name, role)
        async with made._open:
            yield made


async def until(read: Callable[[], Awaitable[Any]], true: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(60):
        while not true(seen := await read()):
            await asyncio.sleep(0.05)
        return seen


async def test_a_stage_shows_its_policy_and_its_busy_processors_by_name(service: Service, sites: Sites) -> None:
    ann, bob, root = [await service.client(name) for name in ("ann", "bob", "root")]

    async def look() -> Any:
        return (await ann.get(STAGE)).json()

    async with InProcessWorker(sites.app):
        await sites.job("a", "b")
        seen = await until(look, lambda body: len(body["atWork"]) == 2)
        hidden, shown = (await bob.get(STAGE)).json(), (await root.get(STAGE)).json()
        (listed,) = [
            one for one in (await bob.get("/api/stages")).json()["items"] if one["stage"] == "website-analysis"
        ]
        sites.gate.set()
        await until(look, lambda body: body["atWork"] == [])
    policy = seen["policy"]
    assert (policy["order"], policy["batch"], policy["throttle"], policy["timeoutSeconds"]) == (0, 20, 50, 60.0)
    assert policy["retry"]["baseSeconds"] == 1.0 and policy["version"] == "1"
    assert seen["processors"] == {"idle": 8, "busy": 2, "error": 0}
    names = {one["name"] for one in seen["atWork"]}
    assert len(names) == 2 and names <= {f"website-analysis-processor-{n}" for n in range(1, 11)}
    assert {one["state"] for one in seen["atWork"]} == {"busy"}
    assert all(one["taskId"] and one["since"] and one["worker"] for one in seen["atWork"])
    assert [one["taskId"] for one in hidden["atWork"]] == [None, None]
    assert {one["taskId"] for one in shown["atWork"]} == {one["taskId"] for one in seen["atWork"]}
    assert listed["processors"] == seen["processors"] and listed["policy"] == policy


async def test_a_stage_that_is_not_there_is_404_with_the_known_ones(service: Service) -> None:
    answer = await (await service.client("ann")).get("/api/stages/sites/nowhere")
    assert answer.status_code == 404
    assert "website-analysis" in answer.json()["detail"]


async def test_the_last_health_report_of_a_worker_is_shown(service: Service, sites: Sites) -> None:
    ann = await service.client("ann")

    async def look() -> Any:
        return (await ann.get("/api/workers")).json()["items"]

    async with InProcessWorker(sites.app):
        (worker,) = await until(look, lambda items: bool(items) and items[0]["health"] is not None)
    assert worker["health"]["problems"] == []
    assert worker["health"]["stuckProcessors"] == worker["health"]["stuckRows"] == 0
    assert worker["health"]["at"].endswith("Z")
    assert worker["atWork"] == []


async def test_a_job_tells_its_current_step_and_progress(service: Service, sites: Sites) -> None:
    ann = await service.client("ann")
    job = await sites.job("a", "b", "bad")

    async def look() -> Any:
        return (await ann.get(f"/api/jobs/{job}")).json()

    before = await look()
    assert (before["currentStep"], before["progress"]) == ("not-started", 0.0)
    async with InProcessWorker(sites.app, only=["sites/website-analysis"]):
        during = await until(look, lambda body: body["steps"][0]["running"] == 3)
        assert (during["currentStep"], during["progress"]) == ("website-analysis", 0.0)
        sites.gate.set()
        moved = await until(look, lambda body: body["steps"][0]["done"] == 3)
    assert moved["currentStep"] == "prompt-forming"
    assert moved["progress"] == pytest.approx(1 / 3)
    assert moved["steps"][1] == {
        "stage": "prompt-forming",
        "waiting": 3,
        "running": 0,
        "done": 0,
        "failed": 0,
        "cancelled": 0,
    }
    async with InProcessWorker(sites.app):
        after = await until(look, lambda body: body["queueState"] == "FAILED")
    assert (after["currentStep"], after["progress"]) == ("failed", 1.0)
    assert [(one["done"], one["failed"]) for one in after["steps"]] == [(3, 0), (2, 1), (2, 0)]


async def test_steps_stay_true_when_a_job_is_run_again_from_a_stage(service: Service, sites: Sites) -> None:
    ann = await service.client("ann")
    sites.gate.set()
    job = await sites.job("a", "b")
    async with InProcessWorker(sites.app):
        await sites.app.job_by_id(job).wait(60)
    body = {"scope": "job", "statuses": ["DONE"], "fromStage": "prompt-forming"}
    assert (await ann.post(f"/api/jobs/{job}/reprocess", json=body)).json() == {"started": 2}
    seen = (await ann.get(f"/api/jobs/{job}")).json()
    assert seen["currentStep"] == "prompt-forming"
    assert seen["progress"] == pytest.approx(1 / 3)
    assert [(one["waiting"], one["done"]) for one in seen["steps"]] == [(0, 2), (2, 0), (0, 0)]
    sites.ran.clear()
    async with InProcessWorker(sites.app):
        await sites.app.job_by_id(job).wait(60)
    # The first stage is not asked, and the last one has the same input as before.
    assert sites.ran == ["prompt-forming", "prompt-forming"]
    done = (await ann.get(f"/api/jobs/{job}")).json()
    assert (done["currentStep"], done["progress"]) == ("completed", 1.0)
    assert [(one["waiting"], one["done"]) for one in done["steps"]] == [(0, 2), (0, 2), (0, 2)]


async def test_a_selection_of_items_is_run_again_from_a_stage(service: Service, sites: Sites) -> None:
    ann = await service.client("ann")
    sites.gate.set()
    job = await sites.job("a", "b", "c")
    async with InProcessWorker(sites.app):
        await sites.app.job_by_id(job).wait(60)
        items = [one["itemId"] for one in (await ann.get(f"/api/jobs/{job}/items")).json()["items"]]
        sites.ran.clear()
        body = {"scope": "items", "itemIds": items[:2], "fromStage": "website-analysis"}
        assert (await ann.post(f"/api/jobs/{job}/reprocess", json=body)).json() == {"started": 2}
        await sites.app.job_by_id(job).wait(60)
    assert sites.ran == ["website-analysis"] * 2
    rows = await service.fetch("select details::text from penstock.audit where action = 'job.reprocess'")
    assert '"fromStage": "website-analysis"' in rows[0]["details"]


async def test_a_stage_to_start_from_has_to_exist_and_the_items_to_have_ended(service: Service, sites: Sites) -> None:
    ann = await service.client("ann")
    job = await sites.job("a")
    (item,) = [one["itemId"] for one in (await ann.get(f"/api/jobs/{job}/items")).json()["items"]]
    url = f"/api/jobs/{job}/reprocess"
    unknown = await ann.post(url, json={"scope": "job", "statuses": ["DONE"], "fromStage": "nowhere"})
    assert unknown.status_code == 404 and "prompt-forming" in unknown.json()["detail"]
    pending = await ann.post(url, json={"scope": "job", "statuses": ["PENDING"], "fromStage": "website-analysis"})
    assert pending.status_code == 400
    waiting = await ann.post(url, json={"scope": "items", "itemIds": [item], "fromStage": "website-analysis"})
    assert waiting.status_code == 409
