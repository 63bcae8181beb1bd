"""Reports over HTTP: safe to open in a browser that is logged in."""

from collections.abc import AsyncIterator

import orjson
import pytest

from penstock.testing import drain
from tests.console.conftest import Service
from tests.extensions import sites_service
from tests.extensions.sites_stages import NASTY


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    async with sites_service.serving(database_url) as made:
        yield made


async def analysed(service: Service, *urls: str) -> int:
    answer = await (await service.client()).post("/api/analyses", json={"urls": list(urls)})
    await drain(service.app)
    job: int = answer.json()["jobId"]
    return job


async def test_the_page_runs_no_script_and_has_an_origin_of_its_own(service: Service):
    job = await analysed(service, "one.example")
    answer = await (await service.client()).get(f"/api/analyses/{job}/report")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;") and "default-src 'none'" in policy and "allow-scripts" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("inline")
    assert "Willow Lane Bicycles" in answer.text
    assert NASTY not in answer.text and "<script" not in answer.text
    loaded = await (await service.client()).get(f"/api/analyses/{job}/report", params={"download": True})
    assert loaded.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("format", "kind"), [("md", "text/markdown"), ("json", "application/json"), ("csv", "text/csv")]
)
async def test_other_forms_come_as_attachments(service: Service, format: str, kind: str):
    job = await analysed(service, "one.example")
    answer = await (await service.client()).get(f"/api/analyses/{job}/report", params={"format": format})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["content-disposition"] == f'attachment; filename="report-{job}.{format}"'
    assert "one.example" in answer.text
    if format == "json":
        assert orjson.loads(answer.content)


async def test_an_analysis_of_many_has_an_overview_with_the_reason_of_what_failed(service: Service):
    job = await analysed(service, "broken.example", "one.example", "two.example")
    text = (await (await service.client()).get(f"/api/analyses/{job}/report", params={"format": "md"})).text
    assert all(one in text for one in ("broken.example", "two.example", "404"))


async def test_a_site_that_is_not_finished_says_so(service: Service):
    answer = await (await service.client()).post("/api/analyses", json={"url": "one.example"})
    report = await (await service.client()).get(f"/api/analyses/{answer.json()['jobId']}/report?format=md")
    assert report.status_code == 200
    assert "not finished" in report.text


async def test_an_admin_who_looks_at_the_report_of_another_is_noted(service: Service):
    job = await analysed(service, "one.example")
    assert (await (await service.client("root")).get(f"/api/analyses/{job}/report")).status_code == 200
    rows = await service.fetch("select action, owner from penstock.audit where actor = 'root'")
    assert [tuple(row) for row in rows] == [("job.look", "ann")]
