"""Linking, from a file to reviewed matches: by mouse, by keyboard alone, on a phone, and two at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.linking_people import CSV, IMAGE, SCRIPT, serving
from tests.browser.looking import SECONDS, Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def source() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def world(module_database_url: str, tmp_path_factory: pytest.TempPathFactory, source: str) -> Iterator[World]:
    """As everywhere, beside a made-up Wikidata."""
    made = World(module_database_url, tmp_path_factory.mktemp("up"))
    try:
        made.start(linking_endpoint=source, linking_user_agent="penstock-tests/1.0", linking_per_second="500")
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def people(world: World) -> int:
    """A project of ann that was matched: a clear one, six pairs of twins, a hostile pair, somebody unknown."""
    client = world.api("ann")
    options = '{"types": ["Q5"], "languages": ["en"]}'
    made = client.post("/api/projects", files={"file": ("people.csv", CSV.encode())}, data={"options": options})
    assert made.status_code == 201, made.text
    number: int = made.json()["projectId"]
    assert client.post(f"/api/projects/{number}/match", json={"scope": "all"}).status_code == 202
    return number


def counts(world: World, project: int) -> dict[str, int]:
    found = world.api("ann").get(f"/api/projects/{project}").json()["progress"]["counts"]
    return {state: n for state, n in found.items() if n}


def record(world: World, project: int, number: int) -> dict[str, Any]:
    found: dict[str, Any] = world.api("ann").get(f"/api/projects/{project}/records/{number}").json()
    return found


def ended(page: Page) -> None:
    """The run of the project on screen is over, and something waits."""
    expect(page.locator("main").get_by_text("Needs review", exact=True).first).to_be_visible(timeout=2 * SECONDS)
    expect(page.locator("[data-pace]")).to_have_count(0, timeout=2 * SECONDS)


def at(page: Page, number: int) -> Locator:
    place = page.locator(f"[data-record='{number}']")
    expect(place).to_be_visible()
    return place


def no_sideways(page: Page) -> None:
    wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1], wide


def test_a_file_is_set_up_matched_reviewed_by_keyboard_cut_by_a_threshold_and_exported(
    looker: Looker, world: World, tmp_path: Path
) -> None:
    page = looker.page("ann", "/linking")
    expect(page.locator("[data-empty=nothing]")).to_contain_text("No projects yet")
    page.get_by_role("link", name="New project").click()
    file = tmp_path / "people that never were.csv"
    file.write_text(CSV)
    page.locator("input[type=file]").set_input_files(file)
    # A guess that people can follow, and change.
    expect(page.get_by_label("Role of name")).to_have_value("name")
    expect(page.get_by_label("Role of born")).to_have_value("P569")
    expect(page.get_by_label("Role of homepage")).to_have_value("P856")
    page.get_by_label("Role of name").select_option("")
    expect(page.get_by_text("Say which column holds the name")).to_be_visible()
    expect(page.get_by_role("button", name="Store and match")).to_have_attribute("aria-disabled", "true")
    page.get_by_label("Role of name").select_option("name")
    page.get_by_label("Role of homepage").select_option("other")
    page.get_by_label("Property of homepage").fill("P856")
    page.get_by_label("Type of all records").fill("Q5")
    page.get_by_label("Reconciliation service").check()
    expect(page.get_by_text("PENSTOCK_LINKING_RECONCILIATION_URL is not set")).to_be_visible()
    page.get_by_label("Wikidata").check()
    page.get_by_label("Name of the project").fill("People that never were")
    page.get_by_role("button", name="Store and match").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("People that never were")
    ended(page)
    project = int(page.url.partition("/linking/")[2].partition("?")[0])
    assert counts(world, project) == {"ACCEPTED": 1, "REVIEW": 7, "NO_CANDIDATE": 1}

    # From here on nobody touches the mouse: five records.
    page.get_by_role("link", name="Review 7").focus()
    page.keyboard.press("Enter")
    at(page, 2)
    page.keyboard.press("1")
    at(page, 3)
    page.keyboard.press("2")
    at(page, 4)
    page.keyboard.press("0")
    at(page, 5)
    page.keyboard.press("n")
    page.get_by_role("textbox", name="Note").fill("ask the archive")
    page.keyboard.press("Control+Enter")
    expect(at(page, 5)).to_contain_text("ask the archive")
    page.keyboard.press("s")
    at(page, 6)
    page.keyboard.press("1")
    at(page, 7)
    expect(page.get_by_text("4 decisions in this session, 1 skipped, 3 records waiting")).to_be_visible()
    page.keyboard.press("u")
    at(page, 6)
    expect(page.get_by_text("3 decisions in this session, 1 skipped, 4 records waiting")).to_be_visible()
    page.keyboard.press("k")
    at(page, 5)
    page.keyboard.press("ArrowRight")
    at(page, 6)
    assert page.url.endswith("record=6")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("None of the candidates is it")
    page.keyboard.press("Escape")
    states = [(one["state"], one["entity"]) for one in (record(world, project, n) for n in (2, 3, 4, 5, 6))]
    assert states == [
        ("ACCEPTED", "Q9100"),
        ("ACCEPTED", "Q9111"),
        ("REJECTED", None),
        ("REVIEW", "Q9130"),
        ("REVIEW", "Q9140"),
    ]
    assert record(world, project, 5)["note"] == "ask the archive"
    # A sequence of keys still leads elsewhere, although s alone skips.
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", level=1)).to_have_text("Linking")

    page.get_by_role("link", name="People that never were").click()
    page.get_by_role("tab", name="Scores").click()
    page.get_by_label("Score from").fill("0.5")
    page.get_by_label("Ahead by").fill("0")
    preview = page.locator("[data-preview='4']")
    expect(preview).to_contain_text("4 of 4 waiting records would be accepted")
    line = page.get_by_role("slider")
    line.focus()
    page.keyboard.press("End")
    expect(page.locator("[data-preview='0']")).to_contain_text("Twin Alder")
    expect(page.get_by_role("button", name="Accept 0")).to_have_attribute("aria-disabled", "true")
    box = page.locator("[role=slider]").locator("..").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(line).to_have_attribute("aria-valuetext", "0.40")
    page.get_by_role("button", name="Accept 4").click()
    page.get_by_role("dialog").get_by_role("button", name="Accept 4").click()
    expect(page.get_by_text("Accepted as one batch")).to_be_visible()
    assert counts(world, project) == {"ACCEPTED": 7, "REJECTED": 1, "NO_CANDIDATE": 1}
    # The address holds what can be undone, also after a reload.
    page.reload()
    page.get_by_role("button", name="Undo the batch").click()
    expect(page.locator("[data-preview='4']")).to_be_visible()
    assert counts(world, project)["REVIEW"] == 4

    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export")
    with page.expect_download() as kept:
        dialog.get_by_role("button", name="Download").click()
    text = Path(kept.value.path()).read_text()
    assert "match_state" in text.splitlines()[0]
    assert "ask the archive" in text
    assert text.count("ACCEPTED") == 3
    dialog.get_by_label("JSON").check()
    assert looker.axe(page) == []
    with page.expect_download() as kept:
        dialog.get_by_role("button", name="Download").click()
    assert [one["match_state"] for one in orjson.loads(Path(kept.value.path()).read_bytes())].count("ACCEPTED") == 3


def test_rows_are_pasted_and_what_cannot_be_read_is_told_with_its_place(looker: Looker, world: World) -> None:
    looker.expected.append("400")
    page = looker.page("ann", "/linking/new?from=paste")
    page.get_by_role("textbox", name="Rows").fill("name,born\nAda,1815,too,many")
    page.get_by_role("button", name="Look at the rows").click()
    expect(page.get_by_role("alert")).to_contain_text("the header names 2 columns")
    page.get_by_role("textbox", name="Rows").fill(
        "Vorname und Name\tGeburtsdatum\nAda Quillfeather\t1815-12-10\n\t1900"
    )
    page.get_by_role("button", name="Look at the rows").click()
    expect(page.get_by_label("Role of Geburtsdatum")).to_have_value("P569")
    expect(page.get_by_text("1 of the first 2 rows has no name")).to_be_visible()
    page.get_by_role("button", name="Only store").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pasted rows")
    expect(page.get_by_role("grid")).to_contain_text("Not matched yet")
    # The stream may tell of the change while the page of the project is still there, which then asks for it once more.
    looker.expected.append("status of 404")
    page.get_by_role("button", name="Delete the project").click()
    page.get_by_role("button", name="Delete the project").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Linking")


def test_a_dataset_that_is_too_large_for_a_look_is_stored_and_waits_in_a_pill_elsewhere(
    looker: Looker, people: int
) -> None:
    elsewhere = looker.page("ann", "/linking")
    expect(elsewhere.locator(f"[data-project='{people}']")).to_be_visible()
    page = looker.page("ann", "/linking/new")
    rows = orjson.dumps([{"name": f"Person {n}", "born": "1900", "remark": "x" * 4000} for n in range(1100)])
    file = FilePayload(name="large.json", mimeType="application/json", buffer=rows)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("This file is too large for a look")).to_be_visible()
    page.get_by_role("button", name="Only store").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("large")
    expect(page.get_by_role("grid")).to_contain_text("Person 1")
    project = page.url.rpartition("/")[2]
    pill = elsewhere.locator("[data-pill=new]")
    expect(pill).to_have_text("1 new")
    expect(elsewhere.locator(f"[data-project='{project}']")).to_have_count(0)
    pill.click()
    expect(elsewhere.locator(f"[data-project='{project}']")).to_be_visible()


def test_records_are_filtered_by_the_address_and_decided_in_the_drawer(
    looker: Looker, world: World, people: int
) -> None:
    page = looker.page("ann", f"/linking/{people}")
    ended(page)
    page.get_by_text("No candidate 1").click()
    expect(page.get_by_role("grid").locator("[data-row]")).to_have_count(1)
    assert "status=" in page.url
    page.get_by_text("No candidate 1").click()
    page.get_by_text("Accepted 1").click()
    page.get_by_label("From row").fill("5")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    page.get_by_role("button", name="Show all records").click()
    row = page.locator("[data-row='7']")
    row.focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Date of birth (P569)")
    drawer.get_by_role("button", name=re.compile("Accept .*Q9150")).click()
    expect(row).to_contain_text("Accepted")
    expect(row).to_contain_text("ann")
    drawer.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("Needs review")
    drawer.get_by_label("Another id, by hand").fill("Q9151")
    drawer.get_by_role("button", name="Accept this id").click()
    expect(row).to_contain_text("Q9151")
    drawer.get_by_role("button", name="Decide again").click()
    expect(row).to_contain_text("Needs review")


def test_who_is_overtaken_is_told_and_keeps_their_place(looker: Looker, world: World, people: int) -> None:
    looker.expected.append("409")
    page = looker.page("ann", f"/linking/{people}/review?record=2")
    at(page, 2)
    # Live, the page could show what root decided before ann presses: she would overrule it knowingly.
    page.locator("[data-live=live]").click()
    expect(page.locator("[data-live=paused]")).to_be_visible()
    quicker = world.api("root").post(f"/api/projects/{people}/records/2/reject", json={})
    assert quicker.status_code == 200, quicker.text
    page.keyboard.press("1")
    expect(page.get_by_role("alert")).to_contain_text("Record 2 was not decided")
    expect(page.get_by_role("alert")).to_contain_text("No match by root")
    at(page, 3)
    assert record(world, people, 2)["state"] == "REJECTED"
    page.get_by_role("button", name="Look at record 2").click()
    expect(at(page, 2)).to_contain_text("No match by root")
    # What was seen now may be overruled.
    page.keyboard.press("1")
    at(page, 3)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("k")
    expect(at(page, 2)).to_contain_text("by ann")
    page.keyboard.press("u")
    expect(at(page, 2)).to_contain_text("No match")


def test_other_weights_rank_again_and_say_what_stays(looker: Looker, world: World, people: int) -> None:
    page = looker.page("ann", f"/linking/{people}?tab=setup")
    page.get_by_role("button", name="Weights").click()
    page.get_by_label("Date of birth (P569)").fill("9")
    page.get_by_role("button", name="Store and rank again").click()
    page.get_by_role("dialog").get_by_role("button", name="Rank again").click()
    expect(page.get_by_role("status").filter(has_text="ranked again")).to_contain_text("nobody was asked")
    found = world.api("ann").get(f"/api/projects/{people}").json()
    assert found["options"]["weights"]["properties"] == {"P569": 9.0}


def test_what_people_and_sources_stored_is_text(looker: Looker, world: World, people: int) -> None:
    spoken: list[str] = []
    page = looker.page("ann", f"/linking/{people}?record=8")
    page.on("dialog", lambda dialog: (spoken.append(dialog.message), dialog.dismiss()))
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text(IMAGE)
    expect(drawer).to_contain_text(SCRIPT)
    page.goto(f"/linking/{people}/review?record=8")
    expect(at(page, 8)).to_contain_text(SCRIPT)
    assert page.locator("main img, main script").count() == 0
    assert page.locator("a[href^='javascript' i]").count() == 0
    page.goto(f"/linking/{people}/review?record=1")
    link = at(page, 1).get_by_role("link", name="https://example.org/ada")
    assert (link.get_attribute("rel"), link.get_attribute("href")) == ("noopener noreferrer", "https://example.org/ada")
    page.goto(f"/linking/{people}?tab=setup")
    expect(page.get_by_text(SCRIPT).first).to_be_visible()
    page.goto("/linking/new?from=paste")
    page.get_by_role("textbox", name="Rows").fill(CSV)
    page.get_by_role("button", name="Look at the rows").click()
    expect(page.get_by_role("region", name="First rows")).to_contain_text(IMAGE)
    assert page.locator("main img, main script").count() == 0
    assert spoken == []


def test_a_viewer_sees_everything_and_may_press_nothing(looker: Looker, world: World, people: int) -> None:
    world.sql("update record_linking.projects set owner = 'eve' where id = $1 returning id", people)
    try:
        page = looker.page("eve", f"/linking/{people}")
        for name in ("Match", "Delete the project"):
            button = page.get_by_role("button", name=name)
            expect(button).to_have_attribute("aria-disabled", "true")
            button.focus()
            expect(page.get_by_role("tooltip").filter(has_text="needs the role operator")).to_be_visible()
        looker.go(page, f"/linking/{people}?tab=scores")
        expect(page.get_by_role("button", name="Accept", exact=True)).to_have_attribute("aria-disabled", "true")
        looker.go(page, f"/linking/{people}/review?record=4")
        before = record_state(world, people, 4)
        place = at(page, 4)
        expect(place.get_by_role("button", name=re.compile("^Accept")).first).to_have_attribute("aria-disabled", "true")
        page.keyboard.press("1")
        page.keyboard.press("j")
        at(page, 5)
        assert record_state(world, people, 4) == before
        looker.go(page, "/linking")
        expect(page.get_by_role("link", name="New project")).to_have_attribute("aria-disabled", "true")
        # All that it asks for has been answered before the project is somebody else's again.
        expect(page.locator(f"[data-project='{people}'] [role=img]")).to_be_visible()
    finally:
        world.sql("update record_linking.projects set owner = 'ann' where id = $1 returning id", people)


def record_state(world: World, project: int, number: int) -> int:
    rows = world.sql("select state from record_linking.records where project_id = $1 and number = $2", project, number)
    state: int = rows[0]["state"]
    return state


def test_every_screen_can_be_read_by_everybody(looker: Looker, people: int) -> None:
    page = looker.page("ann", "/linking")
    signals = {
        "/linking": "[data-project] [role=img]",
        f"/linking/{people}": "[role=grid] [data-row]",
        f"/linking/{people}?record=3": "[data-candidate]",
        f"/linking/{people}?tab=scores&min=0.5&gap=0": "[data-preview]",
        f"/linking/{people}?tab=setup": "table select",
        f"/linking/{people}/review?record=3": "[data-record='3'] [data-candidate]",
        "/linking/new?from=paste": "textarea",
    }
    for number, (path, signal) in enumerate(signals.items()):
        looker.go(page, path)
        expect(page.locator(signal).first).to_be_visible()
        if path == "/linking/new?from=paste":
            page.get_by_role("textbox", name="Rows").fill("name,born,homepage\nAda,1815,https://example.org\n,1,\n")
            page.get_by_role("button", name="Look at the rows").click()
            expect(page.locator("[data-setup]")).to_be_visible()
        for look in looker.looks(page, stay=True):
            looker.shot(page, f"{number}-{look}")
            assert looker.axe(page) == [], (path, look)
            no_sideways(page)


def test_a_thumb_reviews_on_a_phone(looker: Looker, world: World, people: int) -> None:
    page = looker.page("ann", f"/linking/{people}/review?record=6", narrow=True)
    at(page, 6).get_by_role("button", name=re.compile("Accept .*Q9141")).click()
    at(page, 7)
    page.get_by_role("button", name="None").click()
    at(page, 8)
    page.get_by_role("button", name=re.compile("Undo record 7")).click()
    at(page, 7)
    page.get_by_role("button", name="Previous record").click()
    expect(at(page, 6)).to_contain_text("Accepted")
