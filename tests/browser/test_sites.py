"""Website analysis as people meet it: from the first address to the report, without network."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from tests.browser.looking import SECONDS, Looker, in_reach
from tests.browser.sites_web import IMAGE, SitesWeb
from tests.browser.world import World
from tests.cli.waiting import wait_until
from tests.extensions.model_world import table

pytestmark = pytest.mark.timeout(240)
TABS = ("facts", "prompts", "answers", "scores", "report")
LONG = 60_000


@pytest.fixture(scope="module")
def web() -> Iterator[SitesWeb]:
    made = SitesWeb().start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def world(module_database_url: str, tmp_path_factory: pytest.TempPathFactory, web: SitesWeb) -> Iterator[World]:
    """As everywhere, but loopback may be read, and a model with a price is there."""
    models = tmp_path_factory.mktemp("models") / "models.toml"
    models.write_text(table("gull", web.model_url, key_variable=None, output_price=100.0, max_tokens=50))
    made = World(module_database_url, tmp_path_factory.mktemp("up"))
    try:
        made.start(
            sites_allowed_hosts=web.allowed, sites_models_file=str(models), sites_prompts="4", sites_per_second="1000"
        )
        yield made
    finally:
        made.close()


def analysed(world: World, *urls: str, owner: str = "ann", ends: bool = True, **options: object) -> tuple[int, int]:
    """The job and its first site, when it has ended or waits for a person."""
    api = world.api("ann")
    answer = api.post("/api/analyses", json={"urls": list(urls), **options})
    assert answer.status_code == 202, answer.text
    job = answer.json()["jobId"]

    def look() -> dict[str, Any]:
        found: dict[str, Any] = api.get(f"/api/analyses/{job}").json()
        return found

    wait_until(
        lambda: look()["queueState"] in ("DONE", "FAILED") if ends else look()["waitsForApproval"] is True,
        what="the analysis",
        log=lambda: world.log,
        seconds=60,
    )
    site = look()["sites"][0]["siteId"]
    if owner != "ann":
        world.sql("update penstock.jobs set owner = $2 where id = $1", job, owner)
        world.sql("update penstock.lanes set owner = $2 where job_id = $1", job, owner)
    return job, site


@pytest.fixture(scope="module")
def finished(world: World, web: SitesWeb) -> tuple[int, int]:
    return analysed(world, web.bicycles.url(), models=["offline", "gull"], budget=1)


def _shot(page: Page, name: str) -> None:
    """With PENSTOCK_TEST_SHOTS, as conftest has it."""
    if folder := os.environ.get("PENSTOCK_TEST_SHOTS"):
        page.screenshot(path=Path(folder, "sites", re.sub(r"[^a-zA-Z0-9]+", "-", name) + ".png"), full_page=True)


def stage(page: Page, name: str) -> Locator:
    return page.locator(f"[data-stage={name}] [data-state]")


def test_somebody_goes_from_an_address_to_the_report(looker: Looker, web: SitesWeb) -> None:
    page = looker.page("ann", "/sites")
    expect(page.locator("[data-empty=nothing]")).to_contain_text("No websites analysed yet")
    page.get_by_role("button", name="Analyse websites").first.click()
    form = page.get_by_role("dialog", name="Analyse websites")
    expect(form.get_by_text("Enter an address.")).to_be_visible()
    form.get_by_role("textbox", name="Address").fill(web.bicycles.url())
    form.get_by_role("checkbox", name="gull").check()
    form.get_by_role("textbox", name="Prompts").fill("3")
    expect(form.get_by_role("status")).to_contain_text("6 questions per site. At most 0.015 in all")
    form.get_by_role("textbox", name="Budget").fill("0.01")
    expect(form.get_by_role("status")).to_contain_text("The budget of 0.01 stops before that")
    form.get_by_role("textbox", name="Budget").fill("1")
    form.get_by_label("Approval first").check()
    form.get_by_role("button", name="Analyse").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("127.0.")
    approve = page.get_by_role("button", name="Approve all that wait")
    expect(approve).to_be_visible(timeout=LONG)
    expect(page.get_by_role("grid", name="Sites")).to_contain_text("Needs approval")
    page.get_by_role("grid").get_by_role("link").first.click()
    page.get_by_role("tab", name="Prompts").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Prompt 3").fill("Who mends a bicycle on a Sunday?")
    expect(page.get_by_role("status").filter(has_text="1 prompt is new")).to_contain_text("2 questions")
    page.get_by_role("button", name="Save 3 prompts").click()
    expect(page.get_by_role("table", name="Prompts")).to_contain_text("Who mends a bicycle on a Sunday?")

    page.get_by_role("button", name="Approve").click()
    question = page.get_by_role("dialog", name="Ask the models?")
    expect(question).to_contain_text("1 site: 6 questions to 2 models")
    expect(question).to_contain_text("They may cost up to 0.015")
    question.get_by_role("button", name="Approve 1 site").click()
    expect(stage(page, "model-analysis")).to_have_attribute("data-state", "DONE", timeout=LONG)

    page.get_by_role("tab", name="Facts").click()
    topics = page.get_by_role("region", name="Topics")
    expect(topics.get_by_role("link").first).to_have_attribute("href", re.compile("^http://127.0."))
    page.get_by_role("tab", name="Report").click()
    expect(
        page.get_by_role("heading", name="What to improve")
        .or_(page.get_by_role("heading", name=re.compile("Cover")))
        .first
    ).to_be_visible()
    page.get_by_role("button", name="Report").click()
    for name, suffix in (("Web page", "html"), ("Markdown", "md"), ("JSON", "json"), ("CSV", "csv")):
        with page.expect_download() as kept:
            page.get_by_role("menuitem", name=name).click()
        assert re.fullmatch(rf"report-\d+-\d+\.{suffix}", kept.value.suggested_filename)
        assert Path(kept.value.path()).stat().st_size > 100
        page.get_by_role("button", name="Report").click()


def test_a_cell_of_the_matrix_shows_the_answer_with_its_evidence(looker: Looker, finished: tuple[int, int]) -> None:
    job, site = finished
    page = looker.page("ann", f"/sites/{job}/{site}?tab=answers")
    matrix = page.get_by_role("table", name="Answers by prompt and model")
    expect(matrix.get_by_role("button").filter(has_text="Named").first).to_contain_text("place 1")
    matrix.locator("[data-cell$=gull]").filter(has_text="Named").first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer.locator("mark[data-kind=unsupported]").filter(has_text="founded on the moon")).to_be_visible()
    expect(drawer).to_contain_text("10 in, 20 out")
    expect(drawer).to_contain_text("Harbour Wheels")
    assert "model=gull" in page.url and "prompt=" in page.url
    page.reload()
    expect(page.get_by_role("dialog")).to_contain_text("founded on the moon")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    matrix.locator("[data-cell$=offline]").filter(has_text="On the site").first.click()
    expect(page.get_by_role("dialog").locator("mark[data-kind=supported]").first).to_be_visible()
    expect(page.get_by_role("dialog").locator("blockquote").first).to_contain_text("nearness")


def test_edited_prompts_are_asked_by_the_next_run_and_can_be_given_up(
    looker: Looker, world: World, web: SitesWeb
) -> None:
    job, site = analysed(world, web.bicycles.url())
    page = looker.page("ann", f"/sites/{job}/{site}?tab=prompts")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Remove prompt 2").click()
    page.get_by_role("tab", name="Scores").click()
    leaving = page.get_by_role("dialog", name="Leave without saving?")
    leaving.get_by_role("button", name="Leave it").click()
    page.get_by_role("button", name="Add a prompt").click()
    page.get_by_role("textbox", name="Prompt 4").fill("Which shop sells blue bicycles?")
    page.get_by_role("button", name="Save 4 prompts").click()
    expect(page.get_by_text("Edited since they were asked")).to_be_visible()
    page.get_by_role("button", name="Run again with them").click()
    page.get_by_role("button", name="Run 1 site again").click()
    expect(page.locator("[data-stage=model-analysis]")).to_contain_text("Run 2", timeout=LONG)
    page.get_by_role("tab", name="Answers").click()
    expect(page.get_by_role("table")).to_contain_text("Which shop sells blue bicycles?")
    page.get_by_role("tab", name="Prompts").click()
    page.get_by_role("button", name="Back to the formed ones").click()
    page.get_by_role("button", name="Go back to them").click()
    expect(page.get_by_role("table", name="Prompts")).not_to_contain_text("Which shop sells blue bicycles?")


def test_a_list_tells_what_is_no_address_and_what_failed_runs_again_from_its_stage(
    looker: Looker, web: SitesWeb, world: World
) -> None:
    page = looker.page("ann", "/sites?add=true&from=list")
    form = page.get_by_role("dialog", name="Analyse websites")
    form.get_by_role("textbox", name="Addresses").fill(
        f"{web.broken.url()}\n{web.bicycles.url()}\nftp://four.example\n"
    )
    form.get_by_label("Name").fill("Spring")
    form.get_by_role("button", name=re.compile("Analyse")).click()
    expect(form).to_contain_text("2 sites added, 1 left out")
    expect(form.get_by_role("cell", name="ftp://four.example").first).to_be_visible()
    form.get_by_role("link", name="Go to the analysis").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Spring")
    failed = page.get_by_text("Failed 1")
    expect(failed).to_be_visible(timeout=LONG)
    failed.click()
    expect(page).to_have_url(re.compile("show=failed"))
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("404")
    expect(row.locator("[data-column=website-analysis] [data-state=ERROR]")).to_have_text("Failed")
    expect(row.locator("[data-column=prompt-forming]")).to_have_text("Not yet")
    web.mend()
    row.get_by_role("checkbox").check()
    page.get_by_role("region", name="Selected sites").get_by_role("button", name="Run again").click()
    expect(page.get_by_role("dialog")).to_contain_text("Pages are fetched again")
    page.get_by_role("button", name="Run 1 site again").click()
    expect(page.get_by_text("Failed 0")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Changed since: show 0").click()
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    page.get_by_text("All 2", exact=True).click()
    expect(page.get_by_text("Ended 2")).to_be_visible(timeout=LONG)
    page.get_by_label("Select all that match").check()
    page.get_by_role("region", name="Selected sites").get_by_role("button", name="Run again").click()
    page.get_by_label("From the pages that were kept").check()
    page.get_by_role("button", name="Run 2 sites again").click()
    expect(page.get_by_text("2 sites run again from website analysis.")).to_be_visible()
    runs = "select run from penstock.outcomes where job_id = $1"
    job = int(page.url.split("/sites/")[1].split("?")[0])
    wait_until(lambda: sorted(row["run"] for row in world.sql(runs, job)) == [2, 3], what="the run again")


def test_sitemaps_and_files_are_taken_as_well(looker: Looker, web: SitesWeb, tmp_path: Path) -> None:
    page = looker.page("ann", "/sites?add=true")
    page.get_by_text("Sitemap", exact=True).click()
    page.get_by_label("Address of the sitemap").fill(web.bicycles.url("/list.xml"))
    page.get_by_role("button", name="Analyse", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 sites")
    file = tmp_path / "customers.csv"
    file.write_text(f"Company,Website\nOne,{web.bicycles.url('/hire')}\n")
    looker.go(page, "/sites?add=true&from=file")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_label("Name").fill("From a file")
    page.get_by_role("button", name="Analyse", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("From a file")


def test_an_address_that_cannot_be_taken_is_told_in_the_form(looker: Looker) -> None:
    looker.expected.append("400")
    page = looker.page("ann", "/sites?add=true")
    page.get_by_role("textbox", name="Address").fill("javascript:alert(1)")
    page.get_by_role("button", name="Analyse", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("textbox", name="Address")).to_have_value("javascript:alert(1)")


def test_what_strangers_wrote_is_shown_as_text_everywhere(looker: Looker, world: World, web: SitesWeb) -> None:
    job, site = analysed(world, web.hostile.url(), models=["offline", "gull"], budget=1, name=f"{IMAGE} spring")
    page = looker.page("ann", "/sites")
    dialogs: list[str] = []

    def heard(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", heard)
    expect(page.get_by_role("link", name=f"{IMAGE} spring")).to_be_visible()
    looker.go(page, f"/sites/{job}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{IMAGE} spring")
    seen = ""
    for tab in TABS:
        looker.go(page, f"/sites/{job}/{site}" + ("" if tab == "facts" else f"?tab={tab}"))
        expect(page.get_by_role("tabpanel")).to_contain_text(re.compile("bicycle", re.IGNORECASE))
        seen += page.get_by_role("main").inner_text()
        assert page.locator("main img, main script, a[href^='javascript' i]").count() == 0, tab
        if tab == "answers":
            page.locator("[data-cell$=gull]").first.click()
            expect(page.get_by_role("dialog").locator("[data-answer]")).to_contain_text(IMAGE)
            assert page.locator("[role=dialog] img, [role=dialog] a[href^='javascript' i]").count() == 0
    assert IMAGE in seen and "<script>alert(2)</script>" in seen
    assert dialogs == []


def test_a_viewer_sees_every_button_and_why_it_cannot_be_pressed(looker: Looker, world: World, web: SitesWeb) -> None:
    job, site = analysed(world, web.bicycles.url(), owner="eve", ends=False, review=True)
    page = looker.page("eve", "/sites")
    add = page.get_by_role("button", name="Analyse websites")
    expect(add).to_have_attribute("aria-disabled", "true")
    add.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(f"/sites/{job}")
    approve = page.get_by_role("button", name="Approve all that wait")
    expect(approve).to_have_attribute("aria-disabled", "true")
    approve.focus()
    expect(page.get_by_role("tooltip").filter(has_text="This needs the role operator")).to_be_visible()
    page.goto(f"/sites/{job}/{site}?tab=prompts")
    for name in ("Edit", "Approve", "Run again from here"):
        expect(page.get_by_role("button", name=name).first).to_have_attribute("aria-disabled", "true")


def test_the_list_of_sites_is_walked_by_keyboard(looker: Looker, finished: tuple[int, int]) -> None:
    job, site = finished
    page = looker.page("ann", f"/sites/{job}")
    row = page.locator(f"[data-row='{site}']")
    row.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("region", name="Selected sites")).to_contain_text("1 site selected")
    row.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/sites/{job}/{site}$"))
    page.get_by_role("tab", name="Facts").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tab=prompts"))


def test_every_screen_is_for_everybody(looker: Looker, finished: tuple[int, int]) -> None:
    job, site = finished
    at = f"/sites/{job}/{site}"
    page = looker.page("ann", "/sites")
    for path in ("/sites", "/sites?add=true", f"/sites/{job}", at, *(f"{at}?tab={tab}" for tab in TABS[1:])):
        looker.go(page, path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=SECONDS)
        for look in looker.looks(page, stay=True):
            assert looker.axe(page) == [], (path, look)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, look)
            _shot(page, f"{look}-{path}")
    looker.go(page, f"/sites/{job}")
    for _ in looker.looks(page):
        in_reach(page.get_by_role("button", name=re.compile("again from a stage")).first)
    looker.go(page, f"{at}?tab=answers")
    page.locator("[data-cell$=gull]").first.click()
    expect(page.get_by_role("dialog").locator("[data-answer]")).to_be_visible()
    for look in looker.looks(page):
        assert looker.axe(page) == [], look
        _shot(page, f"{look}-answer")
