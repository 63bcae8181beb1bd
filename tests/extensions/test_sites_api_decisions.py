"""What people decide about sites over HTTP: other prompts, approval, another run."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import sites_service


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with sites_service.serving(database_url) as made:
        yield made


async def analysis(service: Service, *urls: str, **options: Any) -> tuple[int, list[int]]:
    """The job and its sites, as far as they come by themselves."""
    ann = await service.client()
    answer = await ann.post("/api/analyses", json={"urls": list(urls), **options})
    await drain(service.app)
    job = answer.json()["jobId"]
    sites = (await ann.get(f"/api/analyses/{job}/sites")).json()["items"]
    return job, [one["siteId"] for one in sites]


async def states(service: Service, job: int) -> list[str]:
    answer = await (await service.client()).get(f"/api/analyses/{job}/sites")
    return [one["currentStep"] for one in answer.json()["items"]]


async def acts(service: Service) -> list[str]:
    return [row["action"] for row in await service.fetch("select action from penstock.audit order by id")]


async def test_no_model_is_asked_before_the_prompts_are_approved(service: Service):
    job, (first, second) = await analysis(service, "one.example", "two.example", review=True)
    ann = await service.client()
    waiting = (await ann.get(f"/api/analyses/{job}")).json()["sites"]
    assert [one["currentStep"] for one in waiting] == ["model-analysis"] * 2
    assert "approval" in waiting[0]["why"]
    assert (await ann.post(f"/api/analyses/{job}/approve", json={"siteIds": [first]})).json()["approved"] == 1
    await drain(service.app)
    assert await states(service, job) == ["completed", "model-analysis"]
    assert (await ann.post(f"/api/analyses/{job}/approve")).json()["approved"] == 1
    await drain(service.app)
    assert await states(service, job) == ["completed", "completed"]
    assert (await acts(service)).count("analysis.approve") == 2
    assert second


async def test_edited_prompts_are_asked_and_keep_the_fact_of_those_that_stayed(service: Service):
    job, (site,) = await analysis(service, "one.example", review=True)
    ann = await service.client()
    texts = ["Where are bicycles sold?", "Who repairs bicycles?"]
    edited = await ann.put(f"/api/analyses/{job}/sites/{site}/prompts", json={"prompts": texts})
    assert edited.status_code == 200, edited.text
    assert [(one["kind"], one["text"]) for one in edited.json()["prompts"]] == [("own", texts[0]), ("topic", texts[1])]
    assert edited.json()["counts"] == "now"
    await ann.post(f"/api/analyses/{job}/approve")
    await drain(service.app)
    found = (await ann.get(f"/api/analyses/{job}/sites/{site}")).json()
    assert sorted(one["text"] for one in found["answers"]) == sorted(f"An answer to {one}" for one in texts)
    assert found["edited"]
    assert "site.prompts" in await acts(service)


async def test_prompts_of_a_site_that_ended_count_for_its_next_run(service: Service):
    job, (site,) = await analysis(service, "one.example")
    ann = await service.client()
    edited = await ann.put(f"/api/analyses/{job}/sites/{site}/prompts", json={"prompts": ["Who else?"]})
    assert edited.json()["counts"] == "rerun"
    body = {"fromStage": "model-analysis", "siteIds": [site]}
    assert (await ann.post(f"/api/analyses/{job}/rerun", json=body)).json() == {"started": 1}
    await drain(service.app)
    found = (await ann.get(f"/api/analyses/{job}/sites/{site}")).json()
    assert [one["text"] for one in found["answers"]] == ["An answer to Who else?"]
    runs = {one["stage"]: one["run"] for one in found["stages"]}
    assert runs == {"website-analysis": 1, "prompt-forming": 1, "model-analysis": 2}


async def test_prompts_cannot_be_edited_before_there_are_any(service: Service):
    answer = await (await service.client()).post("/api/analyses", json={"url": "one.example"})
    job = answer.json()["jobId"]
    ann = await service.client()
    site = (await ann.get(f"/api/analyses/{job}")).json()["sites"][0]["siteId"]
    refused = await ann.put(f"/api/analyses/{job}/sites/{site}/prompts", json={"prompts": ["Who?"]})
    assert refused.status_code == 409
    assert "prompts are formed" in refused.json()["detail"]


@pytest.mark.parametrize("prompts", [[], [""], ["x" * 501], ["a\x00b"], ["one?"] * 201])
async def test_prompts_that_cannot_be_asked_are_refused(service: Service, prompts: list[str]):
    job, (site,) = await analysis(service, "one.example")
    ann = await service.client()
    answer = await ann.put(f"/api/analyses/{job}/sites/{site}/prompts", json={"prompts": prompts})
    assert answer.status_code in (400, 422)
    assert not (await ann.get(f"/api/analyses/{job}/sites/{site}")).json()["edited"]


async def test_a_whole_analysis_or_only_what_failed_runs_again(service: Service):
    job, _ = await analysis(service, "broken.example", "fine.example")
    ann = await service.client()
    failed = {"fromStage": "website-analysis", "statuses": ["ERROR"]}
    assert (await ann.post(f"/api/analyses/{job}/rerun", json=failed)).json() == {"started": 1}
    await drain(service.app)
    everything = {"fromStage": "prompt-forming"}
    assert (await ann.post(f"/api/analyses/{job}/rerun", json=everything)).json() == {"started": 2}
    await drain(service.app)
    assert await states(service, job) == ["failed", "completed"]
    assert "analysis.rerun" in await acts(service)


async def test_replay_is_remembered_for_the_run_it_was_asked_for(service: Service):
    job, (site,) = await analysis(service, "one.example")
    ann = await service.client()
    for replay, kept in ((True, '{"replay": true}'), (False, "{}")):
        body = {"fromStage": "website-analysis", "replay": replay}
        assert (await ann.post(f"/api/analyses/{job}/rerun", json=body)).json() == {"started": 1}
        (row,) = await service.fetch("select options::text from website_analysis.orders where task_id = $1", site)
        assert row["options"] == kept
        await drain(service.app)


async def test_a_site_that_still_runs_is_not_run_again(service: Service):
    job, (site,) = await analysis(service, "one.example", review=True)
    answer = await (await service.client()).post(
        f"/api/analyses/{job}/rerun", json={"fromStage": "website-analysis", "siteIds": [site]}
    )
    assert answer.status_code == 409


async def test_sites_of_another_analysis_are_not_there(service: Service):
    job, _ = await analysis(service, "one.example")
    _, (other,) = await analysis(service, "two.example")
    ann = await service.client()
    rerun = {"fromStage": "website-analysis", "siteIds": [other]}
    assert (await ann.get(f"/api/analyses/{job}/sites/{other}")).status_code == 404
    assert (await ann.get(f"/api/analyses/{job}/report?siteId={other}")).status_code == 404
    assert (await ann.post(f"/api/analyses/{job}/rerun", json=rerun)).status_code == 404
    assert (await ann.post(f"/api/analyses/{job}/approve", json={"siteIds": [other]})).status_code == 404
    prompts = {"prompts": ["Who?"]}
    assert (await ann.put(f"/api/analyses/{job}/sites/{other}/prompts", json=prompts)).status_code == 404
