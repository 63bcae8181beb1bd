"""The three stages together: real pages over HTTP, real extraction, the offline model and endpoints on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import EnqueueOptions, Job, Penstock, State
from penstock.config import load
from penstock.control.acting import By
from penstock.errors import IllegalMove
from penstock.extensions import sites as website_analysis
from penstock.extensions.sites import deciding, orders, stages, views
from penstock.extensions.sites.findings import ASKING, PIPELINE, READING
from penstock.testing import drain
from tests.extensions import site_answers
from tests.extensions.model_world import KEY, Called, ModelServer, Said, raw, refuses, says, table
from tests.extensions.site_world import Place, SiteWorld

ANN = By(actor="ann")
_LOOK = orders.get
_STAGE = "select s.name from penstock.queue q join penstock.stages s on s.id = q.stage where q.task_id = $1"


class World:
    """An application that analyses, the sites it may read, and what it found."""

    def __init__(self, app: Penstock, sites: SiteWorld) -> None:
        self.app = app
        self.sites = sites

    async def submit(self, *urls: str, **options: Any) -> Job:
        return await self.app.store_many(
            self.app.pipelines[PIPELINE],
            [{"url": url} for url in urls],
            EnqueueOptions(owner="ann"),
            name=None,
            metadata={"type": "sites", "options": options},
        )

    async def outcomes(self, job: Job) -> list[dict[str, Any]]:
        async with self.app.connection() as connection:
            rows = await connection.fetch("select id from penstock.tasks where job_id = $1 order by id", job.id)
        return [await self.app.task_by_id(row["id"]).details() for row in rows]

    async def fetchval(self, statement: str) -> Any:
        async with self.app.connection() as connection:
            return await connection.fetchval(statement)


@asynccontextmanager
async def analysing(
    database_url: str, sites: SiteWorld, *, models_file: Path | None = None, more_hosts: str = "", **settings: Any
) -> AsyncIterator[World]:
    given = {
        "sites_allowed_hosts": (*sites.allowed(), *filter(None, more_hosts.split(","))),
        "sites_per_second": 1000.0,
        "sites_prompts": 6,
        "sites_page_timeout_seconds": 60.0,
        "sites_models_file": models_file,
        **settings,
    }
    app = Penstock("test", settings=load(database_url=database_url, **given))
    analysis = website_analysis.install(app)
    await app.open()
    try:
        yield World(app, sites)
    finally:
        await analysis.close()
        await app.close()


async def test_a_site_goes_through_all_three_stages_with_the_offline_model(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url())
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert task["state"] == "DONE", task["error"]
            result = task["result"]
            assert result["columns"]["Name"] == "Copperfield Bakery"
            assert result["columns"]["Pages"] >= 3
            assert len(result["prompts"]) == 6
            assert 0 < result["scores"]["coverage"]["value"] <= 1
            assert result["scores"]["visibility"]["value"] is None, "the offline model quotes the site"
            assert await world.fetchval("select count(*) from website_analysis.pages") >= 3
            assert await world.fetchval("select count(*) from website_analysis.answers") == 6


async def test_a_site_that_did_not_change_is_read_again_and_nothing_else(database_url: str, tmp_path: Path) -> None:
    async with SiteWorld() as sites, ModelServer(lambda called: says("Copperfield Bakery is good.")) as server:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites, **_endpoint(tmp_path, server)) as world:
            job = await world.submit(place.url(), models=["gpt"])
            await drain(world.app)
            calls, before = len(server.calls), (await world.outcomes(job))[0]["result"]
            assert calls == 6
            await deciding.rerun(world.app, job.id, from_stage=READING, by=ANN)
            await drain(world.app)
            after = (await world.outcomes(job))[0]["result"]
            assert after["prompts"] == before["prompts"]
            assert after["scores"]["cells"] == before["scores"]["cells"]
            assert (len(server.calls), after["scores"]["cost"]) == (calls, 0)
            place.pages["/"] = site_answers.text_page("Copperfield Bakery", "We bake rye bread with caraway seeds.")
            await deciding.rerun(world.app, job.id, from_stage=READING, by=ANN)
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert (task["state"], task["run"]) == ("DONE", 3)
            assert task["result"] != before
            fresh = {one["key"] for one in task["result"]["prompts"]} - {one["key"] for one in before["prompts"]}
            assert len(server.calls) == calls + len(fresh), "answers to prompts that stayed are taken over"
            await deciding.rerun(world.app, job.id, from_stage=ASKING, by=ANN)
            await drain(world.app)
            assert len(server.calls) == calls + len(fresh), "nothing is paid for twice"
            await deciding.rerun(world.app, job.id, from_stage=ASKING, options={"fresh": True}, by=ANN)
            await drain(world.app)
            assert len(server.calls) == calls + len(fresh) + 6, "but whoever wants new answers gets them"


async def test_what_the_budget_stopped_is_asked_with_a_larger_one_and_the_rest_stays(
    database_url: str, tmp_path: Path
) -> None:
    async with SiteWorld() as sites, ModelServer(lambda called: says("Copperfield Bakery.", tokens_out=390)) as server:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites, **_endpoint(tmp_path, server)) as world:
            job = await world.submit(place.url(), models=["gpt"], budget=0.003)
            await drain(world.app)
            made = len(server.calls)
            assert 0 < made < 6
            await deciding.rerun(world.app, job.id, from_stage=ASKING, options={"budget": 1.0}, by=ANN)
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert len(server.calls) == 6
            assert task["result"]["notes"] == []
            assert all(cell["failed"] == 0 for cell in task["result"]["scores"]["cells"])


async def test_problems_of_an_endpoint_are_gone_after_a_run_from_any_stage(database_url: str, tmp_path: Path) -> None:
    async with SiteWorld() as sites, ModelServer(lambda called: says("Copperfield."), key="another") as server:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites, **_endpoint(tmp_path, server)) as world:
            job = await world.submit(place.url(), models=["gpt"])
            await drain(world.app, advance=True)
            assert len(server.calls) == 1, "a wrong key is found out by one call"
            server.key = KEY
            await deciding.rerun(world.app, job.id, from_stage=READING, by=ANN)
            await drain(world.app, advance=True)
            [task] = await world.outcomes(job)
            assert all(cell["failed"] == 0 for cell in task["result"]["scores"]["cells"])


async def test_prompts_edited_after_the_end_are_those_of_the_next_run_and_until_then_the_others_are_shown(
    database_url: str,
) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url())
            await drain(world.app)
            [task] = await world.outcomes(job)
            await deciding.edit_prompts(world.app, job.id, task["task_id"], ["Who bakes at night?"], by=ANN)
            async with world.app.connection() as connection:
                seen = await views.details(connection, task["task_id"])
            assert len(seen.prompts) == 6
            assert [one.text for one in seen.next_prompts or ()] == ["Who bakes at night?"]
            await deciding.rerun(world.app, job.id, from_stage=READING, by=ANN)
            await drain(world.app)
            async with world.app.connection() as connection:
                seen = await views.details(connection, task["task_id"])
            assert [one.text for one in seen.prompts] == ["Who bakes at night?"]
            assert seen.next_prompts is None


async def test_a_replay_counts_for_one_run(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url())
            await drain(world.app)
            await deciding.rerun(world.app, job.id, from_stage=READING, options={"replay": True}, by=ANN)
            await drain(world.app)
            asked = len(sites.asked)
            await job.reprocess(statuses=[State.DONE], from_stage=READING)
            await drain(world.app)
            assert len(sites.asked) > asked


async def test_a_run_from_kept_pages_needs_no_network(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url())
            await drain(world.app)
            before, asked = (await world.outcomes(job))[0], len(sites.asked)
            place.pages.clear()
            await deciding.rerun(world.app, job.id, from_stage=READING, options={"replay": True}, by=ANN)
            await drain(world.app)
            [after] = await world.outcomes(job)
            assert (after["state"], after["run"], after["result"]) == (
                "DONE",
                2,
                {**before["result"], **_replayed(after)},
            )
            assert len(sites.asked) == asked


def _replayed(task: dict[str, Any]) -> dict[str, Any]:
    """Only what was chosen differs, where the last stage was computed at all."""
    return {"options": task["result"]["options"]}


async def test_an_endpoint_that_throttles_fails_dawdles_and_says_nonsense_is_asked_until_it_answers(
    database_url: str, tmp_path: Path
) -> None:
    turns = iter([refuses(429, Retry_After="1"), refuses(500), says("Slowly.", pause=0.5), raw(b"<html>oops")])

    def answer(called: Called) -> Said:
        return next(turns, says("Try Copperfield Bakery or Hill Street Bread."))

    async with SiteWorld() as sites, ModelServer(answer) as server:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites, **_endpoint(tmp_path, server)) as world:
            job = await world.submit(place.url(), models=["gpt", "offline"], samples=2)
            await drain(world.app, advance=True)
            [task] = await world.outcomes(job)
            assert task["state"] == "DONE", task["error"]
            cells = [one for one in task["result"]["scores"]["cells"] if one["model"] == "gpt"]
            assert sum(cell["samples"] for cell in cells) == 12
            assert sum(cell["failed"] for cell in cells) <= 1
            assert task["result"]["scores"]["visibility"]["value"] is not None
            assert await world.fetchval("select count(*) from website_analysis.reservations") == 0


@pytest.mark.parametrize("problem", ["down", "key", "nonsense", "budget"])
async def test_without_a_single_answer_a_site_still_ends_with_its_coverage_and_a_sentence(
    problem: str, database_url: str, tmp_path: Path
) -> None:
    def answer(called: Called) -> Said:
        return raw(b"no JSON") if problem == "nonsense" else says("fine")

    async with SiteWorld() as sites, ModelServer(answer, key="another" if problem == "key" else KEY) as server:
        place = sites.add(site_answers.small_site())
        url = "http://127.0.0.1:9/v1" if problem == "down" else server.url
        async with analysing(database_url, sites, **_endpoint(tmp_path, server, url=url)) as world:
            budget = {"budget": 0.0} if problem == "budget" else {}
            job = await world.submit(place.url(), models=["gpt"], **budget)
            await drain(world.app, advance=True)
            [task] = await world.outcomes(job)
            assert task["state"] == "DONE", task["error"]
            scores = task["result"]["scores"]
            assert scores["coverage"]["value"] is not None
            assert all(cell["problem"] for cell in scores["cells"])
            if problem == "budget":
                assert server.calls == []
                assert task["result"]["notes"], "somebody who looks at the site learns why"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "404": ({"/": site_answers.status(404)}, "404"),
    "503": ({"/": site_answers.status(503)}, "503"),
    "always 429": ({"/": site_answers.status(429, retry_after="1")}, "429"),
    "endless redirect": ({"/": site_answers.redirect("/a"), "/a": site_answers.redirect("/")}, "redirect"),
    "two gigabytes": ({"/": site_answers.two_gigabytes()}, "large"),
    "gzip bomb": ({"/": site_answers.gzip_bomb()}, "large"),
    "PDF": ({"/": site_answers.pdf()}, "PDF"),
    "empty": ({"/": site_answers.page("")}, "empty"),
    "JavaScript only": ({"/": site_answers.javascript_only()}, "JavaScript"),
    "robots disallow": ({"/robots.txt": "User-agent: *\nDisallow: /\n", "/": site_answers.page("x")}, "robots.txt"),
    "redirect inside": ({"/": site_answers.redirect("http://169.254.169.254/latest")}, "169.254.169.254"),
}


async def test_every_kind_of_bad_site_ends_with_a_sentence_and_the_good_one_beside_them_is_analysed(
    database_url: str,
) -> None:
    async with SiteWorld() as sites:
        places: dict[str, Place] = {name: sites.add(site) for name, (site, _) in BAD.items()}
        good = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            strange = ["http://127.9.9.9/", "http://[::1]/", "http://no-such-host.invalid/", "ftp://x.example/", "::"]
            job = await world.submit(*(place.url() for place in places.values()), *strange, good.url())
            await drain(world.app, advance=True)
            tasks = await world.outcomes(job)
            assert tasks[-1]["state"] == "DONE"
            said = dict(zip([*places, *strange], tasks, strict=False))
            assert {name: task["state"] for name, task in said.items()} == dict.fromkeys(said, "ERROR")
            for name, (_, word) in BAD.items():
                message = said[name]["error"]["message"]
                assert word.lower() in message.lower(), (name, message)
                assert message.strip().endswith("."), (name, message)
                assert "Traceback" not in message


async def test_a_site_that_hangs_ends_with_a_sentence(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add({"/": site_answers.hanging()})
        async with analysing(database_url, sites, sites_page_timeout_seconds=0.5) as world:
            job = await world.submit(place.url())
            await drain(world.app, advance=True)
            [task] = await world.outcomes(job)
            assert task["state"] == "ERROR" and "took longer" in task["error"]["message"]


async def test_prompts_wait_for_approval_and_those_of_a_changed_site_wait_again(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url(), review=True)
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert (task["state"], task["stage"]) == ("PENDING", ASKING)
            assert await world.fetchval("select count(*) from website_analysis.answers") == 0
            prompts = ["Where can I buy bread at six in the morning?"]
            await deciding.edit_prompts(world.app, job.id, task["task_id"], prompts, by=ANN)
            assert await deciding.approve(world.app, job.id, None, by=ANN) == 1
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert task["state"] == "DONE"
            assert [one["text"] for one in task["result"]["prompts"]] == prompts
            place.pages["/"] = site_answers.text_page("Copperfield Bakery", "We bake rye bread with caraway seeds.")
            await deciding.rerun(world.app, job.id, from_stage=READING, by=ANN)
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert (task["state"], task["stage"]) == ("PENDING", ASKING), "the approval was for other prompts"


@pytest.mark.parametrize("chosen", ["this site", "all sites"])
async def test_an_approval_that_meets_the_look_for_it_is_not_slept_through(
    database_url: str, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    looks = []

    async def look(connection: Any, task_id: int) -> Any:
        found = await _LOOK(connection, task_id)
        looks.append(await connection.fetchval(_STAGE, task_id))
        if looks.count(ASKING) == 2:  # the second one is for the approval, which comes before the snooze
            site_ids = [task_id] if chosen == "this site" else None
            assert await deciding.approve(world.app, job.id, site_ids, by=ANN) == 1
        return found

    monkeypatch.setattr(orders, "get", look)
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url(), review=True)
            await drain(world.app)
            [task] = await world.outcomes(job)
    assert (task["state"], looks.count(ASKING)) == ("DONE", 4), task["error"]


async def test_prompts_that_are_not_there_yet_cannot_be_approved(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            job = await world.submit(place.url(), review=True)
            [task] = await world.outcomes(job)
            with pytest.raises(IllegalMove, match="prompts are formed"):
                await deciding.approve(world.app, job.id, [task["task_id"]], by=ANN)
            async with world.app.connection() as connection:
                await orders.approve(connection, [task["task_id"]], by="somebody who was quicker")
            await drain(world.app)
            [task] = await world.outcomes(job)
            assert (task["state"], task["stage"]) == ("PENDING", ASKING)


async def test_what_belonged_to_a_deleted_analysis_is_removed(database_url: str) -> None:
    async with SiteWorld() as sites:
        place = sites.add(site_answers.small_site())
        async with analysing(database_url, sites) as world:
            jobs = [await world.submit(place.url()), await world.submit(place.url())]
            await drain(world.app)
            count = (
                "select (select count(*) from website_analysis.pages) + (select count(*) from website_analysis.answers)"
            )
            before = await world.fetchval(count)
            async with world.app.connection() as connection:
                await connection.execute("delete from penstock.tasks where job_id = $1", jobs[0].id)
            removed = await stages.forget_old(world.app)
            assert removed["leftovers"] >= before / 2
            assert await world.fetchval(count) == before / 2
            assert (await world.outcomes(jobs[1]))[0]["state"] == State.DONE.name


def _endpoint(folder: Path, server: ModelServer, *, url: str | None = None) -> dict[str, Any]:
    path = folder / "models.toml"
    path.write_text(table("gpt", url or server.url, input_price=1.0, output_price=2.0, requests_per_minute=60_000))
    return {"models_file": path, "more_hosts": "127.0.0.1"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_MODEL_KEY", KEY)
