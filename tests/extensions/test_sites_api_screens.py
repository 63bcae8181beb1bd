"""What the screens of website analysis ask beyond the command line: pages both ways, known sites, costs beforehand."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock.extensions.sites import views
from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import sites_service
from tests.extensions.model_world import table

PRICED = table("gull", "https://models.example/v1", key_variable=None, output_price=1_000_000.0, max_tokens=3)


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    file = tmp_path / "models.toml"
    file.write_text(PRICED)
    async with sites_service.serving(database_url, sites_models_file=file) as made:
        yield made


async def analysis(service: Service, *urls: str, **options: Any) -> int:
    answer = await (await service.client()).post("/api/analyses", json={"urls": list(urls), **options})
    assert answer.status_code == 202, answer.text
    await drain(service.app)
    job: int = answer.json()["jobId"]
    return job


async def get(service: Service, path: str, **query: Any) -> dict[str, Any]:
    answer = await (await service.client()).get(f"/api/analyses{path}", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_sites_are_paged_in_both_directions_and_by_status(service: Service):
    job = await analysis(service, *(f"{'broken' if n % 3 == 0 else 'site'}{n}.example" for n in range(9)))
    everything = (await get(service, f"/{job}/sites"))["items"]
    first = await get(service, f"/{job}/sites", pageSize=4)
    second = await get(service, f"/{job}/sites", pageSize=4, after=first["nextCursor"])
    assert [*first["items"], *second["items"]] == everything[:8]
    assert (await get(service, f"/{job}/sites", pageSize=4, before=second["startCursor"]))["items"] == first["items"]
    failed = await get(service, f"/{job}/sites", statuses="ERROR", pageSize=2)
    rest = await get(service, f"/{job}/sites", statuses="ERROR", after=failed["nextCursor"])
    shown = [*failed["items"], *rest["items"]]
    assert {one["siteId"] for one in shown} == {one["siteId"] for one in everything if one["state"] == "ERROR"}
    assert len(shown) == 3
    ann = await service.client()
    foreign = {"statuses": "DONE", "after": failed["nextCursor"]}
    assert (await ann.get(f"/api/analyses/{job}/sites", params=foreign)).status_code == 400
    both = {"after": first["nextCursor"], "before": first["startCursor"]}
    assert (await ann.get(f"/api/analyses/{job}/sites", params=both)).status_code == 400


async def test_a_site_says_in_which_stage_it_ended(service: Service):
    job = await analysis(service, "broken.example", "fine.example")
    broken, fine = (await get(service, f"/{job}/sites"))["items"]
    assert (broken["stage"], broken["state"], broken["attempts"]) == ("website-analysis", "ERROR", 1)
    assert (fine["stage"], fine["state"]) == ("model-analysis", "DONE")


async def test_known_sites_are_told_as_they_are_now_and_those_of_others_left_out(service: Service):
    job = await analysis(service, "one.example", "two.example", review=True)
    other = await analysis(service, "three.example")
    one, two = (each["siteId"] for each in (await get(service, f"/{job}/sites"))["items"])
    (strange,) = (each["siteId"] for each in (await get(service, f"/{other}/sites"))["items"])
    found = (await get(service, f"/{job}/sites/now", ids=f"{two},{strange},{one}"))["items"]
    assert [each["siteId"] for each in found] == [two, one]
    assert all("approval" in each["why"] for each in found)
    ann = await service.client()
    many = ",".join(str(number) for number in range(1, 202))
    assert (await ann.get(f"/api/analyses/{job}/sites/now", params={"ids": many})).status_code == 400


async def test_the_list_shows_what_each_stage_holds_and_who_waits_for_a_person(service: Service):
    await analysis(service, "one.example")
    waiting = await analysis(service, "two.example", "broken.example", review=True)
    newest, oldest = (await get(service, ""))["items"]
    assert (newest["jobId"], newest["waitsForApproval"], oldest["waitsForApproval"]) == (waiting, True, False)
    assert [(one["stage"], one["waiting"], one["failed"]) for one in newest["steps"]] == [
        ("website-analysis", 0, 1),
        ("prompt-forming", 0, 0),
        ("model-analysis", 1, 0),
    ]


async def test_a_site_that_looks_for_its_approval_still_waits_for_it(service: Service):
    """Else the answer goes to and fro while a worker holds the site for a moment."""
    job = await analysis(service, "one.example", review=True)
    site = (await get(service, f"/{job}/sites"))["items"][0]["siteId"]
    async with service.app.connection() as connection:
        await connection.execute(
            "update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers') where task_id = $1", site
        )
    assert (await get(service, f"/{job}"))["waitsForApproval"]
    assert [one["waitsForApproval"] for one in (await get(service, ""))["items"]] == [True]


async def test_an_approval_says_beforehand_how_many_calls_it_means_and_what_they_may_cost(service: Service):
    """Two prompts of each site, twice, on two models; only one of them costs, 3 for each answer."""
    job = await analysis(
        service, "one.example", "two.example", review=True, models=["offline", "gull"], samples=2, budget=100
    )
    ann = await service.client()
    dry = (await ann.post(f"/api/analyses/{job}/approve", json={"dryRun": True})).json()
    assert dry == {"approved": 2, "calls": 16, "mostCost": pytest.approx(24)}
    assert (await get(service, f"/{job}"))["waitsForApproval"]
    site = (await get(service, f"/{job}/sites"))["items"][0]["siteId"]
    await ann.put(f"/api/analyses/{job}/sites/{site}/prompts", json={"prompts": ["Who else?"]})
    chosen = {"siteIds": [site], "dryRun": True}
    one = (await ann.post(f"/api/analyses/{job}/approve", json=chosen)).json()
    assert one == {"approved": 1, "calls": 4, "mostCost": pytest.approx(6)}
    assert (await ann.post(f"/api/analyses/{job}/approve")).json()["approved"] == 2


async def test_edited_prompts_are_given_up_for_the_formed_ones(service: Service):
    job = await analysis(service, "one.example", review=True)
    ann = await service.client()
    site = (await get(service, f"/{job}/sites"))["items"][0]["siteId"]
    formed = (await get(service, f"/{job}/sites/{site}"))["prompts"]
    path = f"/api/analyses/{job}/sites/{site}/prompts"
    await ann.put(path, json={"prompts": ["Who else?"]})
    await ann.post(f"/api/analyses/{job}/approve")
    await drain(service.app)
    reset = await ann.delete(path)
    assert reset.status_code == 200, reset.text
    assert (reset.json()["prompts"], reset.json()["counts"]) == (formed, "rerun")
    after = await get(service, f"/{job}/sites/{site}")
    assert (after["edited"], after["approvedAt"], after["nextPrompts"]) == (False, None, formed)
    actions = [row["action"] for row in await service.fetch("select action from penstock.audit order by id")]
    assert "site.prompts.reset" in actions


async def test_models_say_what_a_call_may_cost_and_what_is_used_without_a_choice(service: Service):
    answer = (await (await service.client()).get("/api/models")).json()
    assert [(one["name"], one["mostPerCall"]) for one in answer["items"]] == [
        ("offline", 0),
        ("gull", pytest.approx(3)),
    ]
    assert answer["usual"]["models"] == ["offline"]
    assert answer["usual"]["prompts"] <= answer["usual"]["mostPrompts"]


async def test_the_failures_that_are_told_first_are_failures(service: Service):
    job = await analysis(service, "one.example", "two.example", "three.example", "broken.example")
    async with service.app.connection() as connection:
        failed = await views.failed_sites(connection, job, limit=3)
    assert [one.url for one in failed] == ["https://broken.example/"]
