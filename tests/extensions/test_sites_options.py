"""Options of an analysis have ceilings, whichever way the job comes: routes, rows as JSON, code, or a run again."""

from typing import Any

import pytest

from penstock import Penstock
from penstock.config import Settings
from penstock.console.files.submit import Submission, submit_items
from penstock.control.acting import By
from penstock.core.enqueue import EnqueueOptions
from penstock.errors import InvalidSetting
from penstock.extensions import sites
from penstock.extensions.sites import deciding
from penstock.extensions.sites.settings import SitesSettings
from tests.extensions.sites_service import serving

SITE = {"url": "https://lamps.example/"}
BEYOND: list[dict[str, Any]] = [
    {"pages": 51},
    {"pages": 0},
    {"pages": "many"},
    {"pages": True},
    {"samples": 51},
    {"prompts": 201},
    {"budget": 1_000_001},
    {"budget": -1},
    {"budget": "all"},
    {"models": []},
    {"models": "offline"},
    {"models": ["nobody"]},
    {"models": [1]},
    {"review": "no"},
]


def test_the_pipeline_checks_what_its_jobs_are_stored_with() -> None:
    app = Penstock("sites-options", settings=Settings(database_url="postgresql://unused/unused"))
    sites.install(app)
    for options in BEYOND:
        with pytest.raises(InvalidSetting, match=f"^{next(iter(options))} = "):
            app.pipelines["sites"].job_metadata({"options": options})
    kept = app.pipelines["sites"].job_metadata({"options": {"pages": 50, "source": "drop"}, "type": "sites"})
    assert (kept["type"], kept["options"]["pages"], kept["options"]["source"]) == ("sites", 50, "drop")
    assert kept["options"]["samples"] == app.settings.of(SitesSettings).samples
    assert app.pipelines["sites"].job_metadata({}) == {}, "what says nothing is as the settings say when it runs"


async def test_options_beyond_the_ceilings_are_refused_wherever_they_come_from(database_url: str) -> None:
    async with serving(database_url) as service:
        ann, pipeline = await service.client("ann"), service.app.pipelines["sites"]
        for options in BEYOND:
            body = {"pipeline": "sites", "items": [SITE], "options": options}
            answer = await ann.post("/api/jobs", json=body)
            assert (answer.status_code, next(iter(options)) in answer.json()["detail"]) == (400, True), answer.text
            answer = await ann.post("/api/analyses", json={**SITE, **options})
            assert answer.status_code in (400, 422), answer.text
            with pytest.raises(InvalidSetting):
                await submit_items(service.app, Submission(owner="ann", pipeline="sites", options=options), [SITE])
            with pytest.raises(InvalidSetting):
                await service.app.store_many(
                    pipeline, [SITE], EnqueueOptions(owner="ann"), name=None, metadata={"options": options}
                )
        assert await service.fetch("select from penstock.jobs") == []
        done = await ann.post("/api/jobs", json={"pipeline": "sites", "items": [SITE], "options": {"pages": 7}})
        shown = (await ann.get(f"/api/analyses/{done.json()['jobId']}")).json()
        assert (shown["options"]["pages"], shown["options"]["samples"]) == (7, 1)


async def test_a_run_again_has_the_ceilings_of_the_first_run(database_url: str) -> None:
    async with serving(database_url) as service:
        ann = await service.client("ann")
        job_id = (await ann.post("/api/analyses", json=SITE)).json()["jobId"]
        for options in ({"budget": 1_000_001.0}, {"pages": 51}):
            with pytest.raises(InvalidSetting):
                await deciding.rerun(
                    service.app,
                    job_id,
                    from_stage="website-analysis",
                    options=options,
                    by=By(actor="ann", ip=None, request_id=None),
                )
