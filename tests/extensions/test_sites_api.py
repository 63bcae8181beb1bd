"""Analyses over HTTP: sites in, where they stand, what was found."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import sites_service
from tests.extensions.loopback import Answer, Loopback


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with sites_service.serving(database_url) as made:
        yield made


async def added(service: Service, **body: Any) -> dict[str, Any]:
    answer = await (await service.client()).post("/api/analyses", json=body)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_an_analysis_of_one_site_has_everything_at_the_top_level(service: Service):
    job = (await added(service, url="Bicycles.example:443/a/../?utm_source=x"))["jobId"]
    ann = await service.client()
    before = (await ann.get(f"/api/analyses/{job}")).json()
    assert (before["currentStep"], before["progress"], before["facts"], before["prompts"]) == (
        "not-started",
        0,
        None,
        [],
    )
    assert [step["stage"] for step in before["steps"]] == ["website-analysis", "prompt-forming", "model-analysis"]
    await drain(service.app)
    after = (await ann.get(f"/api/analyses/{job}")).json()
    assert (after["currentStep"], after["progress"], after["counts"]["done"]) == ("completed", 1, 1)
    assert after["sites"][0]["url"] == "https://bicycles.example/"
    assert after["sites"][0]["scores"]["coverage"] == {"value": 0.5, "low": 0.2, "high": 0.8, "count": 2}
    assert after["facts"]["pages"][0]["openGraph"] == {"og:site_name": "Willow Lane"}
    assert after["scores"]["byKind"]["topic"]["count"] == 2
    assert [one["fact"] for one in after["prompts"]] == ["bicycle repair"] * 2
    assert {one["prompt"] for one in after["answers"]} == {one["key"] for one in after["prompts"]}
    site = (await ann.get(f"/api/analyses/{job}/sites/{after['sites'][0]['siteId']}")).json()
    assert [(one["stage"], one["version"], one["run"]) for one in site["stages"]] == [
        ("website-analysis", "1", 1),
        ("prompt-forming", "1, after website-analysis", 1),
        ("model-analysis", "1, after prompt-forming", 1),
    ]


async def test_each_site_is_analysed_once_and_what_is_no_address_is_told(service: Service):
    text = "one.example\nhttps://ONE.example/\n- two.example, three.example\nmailto:me@here.example\n"
    found = await added(service, text=text, urls=["https://three.example", "ftp://four.example"])
    assert (found["sites"], found["duplicates"]) == (3, 2)
    assert found["refusedCount"] == len(found["refused"]) == 2
    assert all(one["why"] for one in found["refused"])
    sites = (await (await service.client()).get(f"/api/analyses/{found['jobId']}/sites")).json()["items"]
    assert sorted(one["url"] for one in sites) == [
        "https://one.example/",
        "https://three.example/",
        "https://two.example/",
    ]


async def test_a_csv_file_is_taken_with_its_options(service: Service):
    data = b"Company,Website,City\nOne,one.example,Here\nTwo,two.example,There\nAgain,http://one.example/x,Here\n"
    answer = await (await service.client()).post(
        "/api/analyses",
        files={"file": ("sites.csv", data, "text/csv")},
        data={"pages": "2", "models": "offline", "budget": "0.5", "review": "true", "name": "spring"},
    )
    assert answer.status_code == 202, answer.text
    assert answer.json()["sites"] == 3
    job = (await (await service.client()).get(f"/api/analyses/{answer.json()['jobId']}")).json()
    assert job["name"] == "spring"
    assert {name: job["options"][name] for name in ("pages", "models", "budget", "review", "samples")} == {
        "pages": 2,
        "models": ["offline"],
        "budget": 0.5,
        "review": True,
        "samples": 1,
    }


XML = b"<urlset><url><loc>https://one.example/</loc></url><url><loc>https://one.example/b</loc></url></urlset>"


async def test_a_sitemap_on_an_allowed_host_gives_its_pages(database_url: str):
    async with Loopback(lambda target: Answer(body=XML, headers={"Content-Type": "application/xml"})) as server:
        async with sites_service.serving(database_url, sites_allowed_hosts=(f"127.0.0.1:{server.port}",)) as service:
            assert (await added(service, sitemap=server.url("/s.xml")))["sites"] == 2


async def test_a_sitemap_in_the_private_network_is_not_even_asked_for(service: Service):
    async with Loopback(lambda target: Answer(body=XML)) as server:
        refused = await (await service.client()).post("/api/analyses", json={"sitemap": server.url("/s.xml")})
        assert refused.status_code == 400
        assert "The sitemap http://127.0.0.1" in refused.json()["detail"]
        assert server.asked == []


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({}, 400, "No site was named"),
        ({"url": "not a site"}, 400, "cannot be analysed"),
        ({"urls": ["mailto:x@y.example", "ftp://z.example"]}, 400, "None of the 2"),
        ({"url": "one.example", "models": ["gpt"]}, 400, "known are offline"),
        ({"url": "one.example", "pages": 51}, 400, "use 1 to 50"),
        ({"url": "one.example", "samples": 0}, 422, "samples"),
        ({"url": "one.example", "budget": -1}, 422, "budget"),
        ({"url": "one.example", "budget": "much"}, 422, "budget"),
        ({"url": "one.example", "owner": "root"}, 422, "owner"),
        ({"url": "one.example\x00"}, 422, "url"),
        ([], 422, "body"),
    ],
)
async def test_a_wrong_request_stores_nothing_and_says_why(service: Service, body: Any, status: int, told: str):
    answer = await (await service.client()).post("/api/analyses", json=body)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text
    assert await service.fetch("select from penstock.jobs") == []


async def test_the_same_key_gives_the_same_analysis(service: Service):
    ann, bob = await service.client("ann"), await service.client("bob")
    headers = {"Idempotency-Key": sites_service.new_key()}
    first = await ann.post("/api/analyses", json={"urls": ["one.example", "two.example"]}, headers=headers)
    # Not even looked at: what was accepted is accepted, also where its sitemap is gone by now.
    again = await ann.post("/api/analyses", json={"url": "ftp://gone.example"}, headers=headers)
    other = await bob.post("/api/analyses", json={"url": "one.example"}, headers=headers)
    assert first.json()["created"] and not again.json()["created"]
    assert (again.json()["jobId"], again.json()["sites"]) == (first.json()["jobId"], 2)
    assert other.json()["jobId"] != first.json()["jobId"]


async def test_an_owner_with_too_much_unfinished_is_asked_to_wait(database_url: str):
    async with sites_service.serving(database_url, owner_max_items=3) as service:
        answer = await (await service.client()).post(
            "/api/analyses", json={"urls": [f"s{n}.example" for n in range(4)]}
        )
        assert answer.status_code == 429
        assert answer.headers["Retry-After"]
        assert await service.fetch("select from penstock.tasks") == []


async def test_pages_of_sites_and_analyses_go_on_where_they_ended(service: Service):
    ann = await service.client()
    job = (await added(service, urls=[f"s{n}.example" for n in range(7)]))["jobId"]
    for n in range(3):
        await added(service, url=f"t{n}.example")
    seen, after = [], None
    while True:
        more = {} if after is None else {"after": after}
        page = (await ann.get(f"/api/analyses/{job}/sites", params={"pageSize": 3, **more})).json()
        seen += [one["url"] for one in page["items"]]
        if (after := page["nextCursor"]) is None:
            break
    assert seen == [f"https://s{n}.example/" for n in range(7)]
    first = (await ann.get("/api/analyses", params={"pageSize": 3})).json()
    rest = (await ann.get("/api/analyses", params={"pageSize": 3, "after": first["nextCursor"]})).json()
    assert [one["totalSites"] for one in first["items"] + rest["items"]] == [1, 1, 1, 7]
    bob = await service.client("bob")
    assert (await bob.get("/api/analyses", params={"after": first["nextCursor"]})).status_code == 400
    assert (await bob.get("/api/analyses")).json()["items"] == []


async def test_jobs_of_other_pipelines_are_no_analyses(service: Service):
    await added(service, url="one.example")
    (row,) = await service.fetch(
        "insert into penstock.jobs (pipeline, owner, metadata) values ('other', 'ann', '{}') returning id"
    )
    ann = await service.client()
    assert len((await ann.get("/api/analyses")).json()["items"]) == 1
    for path in ("", "/sites", "/sites/1", "/report"):
        assert (await ann.get(f"/api/analyses/{row['id']}{path}")).status_code == 404


async def test_a_site_that_fails_says_why_and_the_others_go_on(service: Service):
    job = (await added(service, urls=["broken.example", "fine.example"]))["jobId"]
    await drain(service.app)
    found = (await (await service.client()).get(f"/api/analyses/{job}")).json()
    assert (found["currentStep"], found["counts"]["error"], found["counts"]["done"]) == ("failed", 1, 1)
    broken, fine = found["sites"]
    assert (broken["currentStep"], fine["currentStep"]) == ("failed", "completed")
    assert "404" in broken["error"]
    assert found["facts"] is None, "only an analysis of one site has its facts at the top"


async def test_models_are_listed_without_their_keys(database_url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "models.toml"
    file.write_text(
        '[[model]]\nname="one"\nurl="https://api.example/v1"\nmodel="m"\nkey_variable="ONE_KEY"\ninput_price=2\n'
        '[[model]]\nname="two"\nurl="https://api.example/v1"\nmodel="m"\nkey_variable="TWO_KEY"\n'
    )
    monkeypatch.setenv("ONE_KEY", "secret-of-one")
    async with sites_service.serving(database_url, sites_models_file=file) as service:
        answer = await (await service.client("eve")).get("/api/models")
    assert [(one["name"], one["ready"]) for one in answer.json()["items"]] == [
        ("offline", True),
        ("one", True),
        ("two", False),
    ]
    assert answer.json()["items"][1]["inputPrice"] == 2
    assert "TWO_KEY" in answer.json()["items"][2]["problem"]
    assert "secret-of-one" not in answer.text
