"""The rows of a job, what is pending, and what people do with what they picked."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import grid_world
from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(240)

HOSTILE = '<img src=x onerror=alert(1)>"><script>alert(2)</script>'
LINK = "javascript:alert(3)"


@pytest.fixture(scope="module", autouse=True)
def paused(world: World) -> None:
    grid_world.pause(world)


def lamps(number: int) -> list[dict[str, str]]:
    return [{"Title": f"Lamp {n}", "Brand": f"Brand {n % 7}"} for n in range(1, number + 1)]


def row(page: Page, item: int) -> Locator:
    return page.locator(f"[data-row='{item}']")


def cell(page: Page, item: int, column: str) -> Locator:
    return row(page, item).locator(f"[data-column='{column}']")


def no_sideways(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return wide


def test_a_job_is_read_row_by_row_and_narrowed_down_in_the_address(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(40))
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items[:3], 3, error=grid_world.failure("the shop has no lamp 12"))
    grid_world.end(world, job, items[3:5], 3, error=grid_world.failure("something else"))
    grid_world.end(world, job, items[5:6], 2, result={"columns": {"Matched title": "Desk lamp"}})
    page = looker.page("ann", f"/jobs/{job}")

    expect(page.get_by_role("grid")).to_be_visible()
    expect(cell(page, items[0], "in:Title")).to_have_text("Lamp 1")
    expect(cell(page, items[5], "out:Matched title")).to_have_text("Desk lamp")
    expect(cell(page, items[0], "error")).to_have_text("PermanentError: the shop has no lamp 12")
    expect(cell(page, items[10], "why")).to_contain_text("paused")

    page.get_by_text("Failed 5").click()
    expect(page).to_have_url(re.compile("status="))
    expect(row(page, items[10])).to_have_count(0)
    expect(page.locator("[data-row]")).to_have_count(5)

    group = world.api().get("/api/errors", params={"jobId": job}).json()["items"][0]["groupId"]
    page.goto(f"/jobs/{job}?group={group}")
    expect(page.locator("[data-row]")).to_have_count(3)
    page.get_by_role("button", name="Show all errors").click()
    expect(row(page, items[20])).to_be_visible()

    page.get_by_role("button", name="Columns").click()
    page.get_by_role("menuitem", name="Hide Brand", exact=True).click()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("columns="))
    expect(cell(page, items[20], "in:Brand")).to_have_count(0)
    page.reload()
    expect(cell(page, items[20], "in:Title")).to_be_visible()
    expect(cell(page, items[20], "in:Brand")).to_have_count(0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_status_stays_in_sight_and_what_was_asked_for_comes_right_behind_it(
    looker: Looker, world: World, dark: bool
) -> None:
    many = [{**one, **{f"Column {n}": f"A rather long text {n}" for n in range(9)}} for one in lamps(20)]
    job = grid_world.job(world, many)
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items[:3], 3, error=grid_world.failure("the shop has no lamp 12"))
    page = looker.page("ann", f"/jobs/{job}", dark=dark)
    page.get_by_role("checkbox", name=f"Select {items[1]}", exact=True).check()
    row(page, items[2]).hover()
    before = [cell(page, items[1], column).bounding_box() for column in ("row", "status", "in:Title")]
    page.get_by_role("grid").evaluate("one => { one.scrollLeft = 500 }")
    after = [cell(page, items[1], column).bounding_box() for column in ("row", "status", "in:Title")]
    assert after[:2] == before[:2]
    assert before[2] is not None
    assert after[2] is not None
    assert before[2]["x"] - after[2]["x"] == 500
    for number in (0, 1, 2, 3):
        ground = cell(page, items[number], "status").evaluate("one => getComputedStyle(one).backgroundColor")
        assert re.fullmatch(r"rgb\(.*\)", ground), ground  # rgba: something would shine through
    looker.shot(page, f"grid-sideways-{'dark' if dark else 'light'}")

    looker.go(page, f"/jobs/{job}?status=ERROR")
    expect(page.get_by_role("columnheader")).to_contain_text(["", "Row", "Status", "Error", "Title"])
    looker.go(page, f"/jobs/{job}?status=PENDING")
    expect(page.get_by_role("columnheader")).to_contain_text(["", "Row", "Status", "Why it waits", "Title"])


def test_somebody_who_goes_to_a_row_can_go_on_in_both_directions(looker: Looker, world: World) -> None:
    job = grid_world.large_job(world, 6000)
    items = grid_world.ids(world, job)
    page = looker.page("ann", f"/jobs/{job}")
    page.get_by_label("Go to row").fill("4182")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("row=4182"))
    expect(row(page, items[4181])).to_be_in_viewport()
    expect(cell(page, items[4181], "row")).to_have_text("4,182")
    row(page, items[4181]).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    expect(row(page, items[4178])).to_be_focused()
    for _ in range(5):
        page.keyboard.press("j")
    expect(row(page, items[4183])).to_be_focused()
    looker.expected.append("404")
    page.goto(f"/jobs/{job}?row=999999")
    expect(page.get_by_role("alert")).to_contain_text("no row 999,999")


def test_the_grid_is_worked_by_keyboard_alone(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(30))
    items = grid_world.ids(world, job)
    page = looker.page("ann", f"/jobs/{job}")
    expect(row(page, items[0])).to_be_visible()
    page.keyboard.press("j")
    expect(row(page, items[0])).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text("3 selected")
    expect(row(page, items[2])).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"item={items[3]}"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("item="))
    expect(selection).to_contain_text("3 selected")
    page.keyboard.press("Escape")
    expect(selection).to_have_count(0)


def test_known_rows_change_in_place_and_new_ones_gather_in_a_pill(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(20))
    items = grid_world.ids(world, job)
    page = looker.page("ann", f"/jobs/{job}?sort=updated&status=DONE")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    grid_world.end(world, job, items[:2], 2, result={"columns": {"Matched title": "one"}})
    page.goto(f"/jobs/{job}?status=DONE")
    expect(page.locator("[data-row]")).to_have_count(2)
    order = [one.get_attribute("data-row") for one in page.locator("[data-row]").all()]

    grid_world.end(world, job, items[2:5], 2, result={"columns": {"Matched title": "two"}})
    expect(page.get_by_role("button", name="3 new")).to_be_visible()
    world.sql(
        """update penstock.outcomes set result = '{"columns": {"Matched title": "changed"}}', finished_at = now()
           where task_id = $1""",
        items[0],
    )
    grid_world.tell(world, job)
    expect(cell(page, items[0], "out:Matched title")).to_have_text("changed")
    expect(row(page, items[0])).to_have_attribute("data-fresh", "true")
    assert [one.get_attribute("data-row") for one in page.locator("[data-row]").all()] == order

    page.get_by_role("button", name="3 new").click()
    expect(page.locator("[data-row]")).to_have_count(5)
    expect(page.locator("[data-row]").first).to_have_attribute("data-row", str(items[0]))


def test_an_edited_copy_takes_the_place_of_its_row(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(3))
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items[1:2], 3, error=grid_world.failure("the shop has no lamp 2"))
    page = looker.page("ann", f"/jobs/{job}")
    cell(page, items[1], "in:Title").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name=f"Row 2 item {items[1]}")).to_be_visible()
    expect(drawer.get_by_role("list", name="Tries, newest first")).to_contain_text("Failed · try 1")
    drawer.get_by_role("button", name="Edit and run again").click()
    editing = page.get_by_role("dialog", name="Edit item")
    editing.get_by_label("Title").fill("Lamp two")
    editing.get_by_role("button", name="Run with this input").click()
    expect(page).to_have_url(re.compile(f"item=(?!{items[1]})"))
    copy = grid_world.ids(world, job)[-1]
    expect(cell(page, copy, "in:Title")).to_have_text("Lamp two")
    expect(cell(page, copy, "row")).to_have_text("2")
    expect(page.locator("[data-row]")).to_have_count(3)
    shown = [one.get_attribute("data-row") for one in page.locator("[data-row]").all()]
    assert shown == [str(one) for one in (items[0], copy, items[2])]
    expect(drawer.get_by_text(f"Edited; before: Item {items[1]}")).to_be_visible()
    looker.shot(page, "edited")
    drawer.get_by_role("link", name=f"Item {items[1]}").click()
    expect(page.get_by_role("heading", name="Row 2", level=1)).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="runs in its place")).to_contain_text(f"Item {copy}")


def test_the_way_from_an_edited_row_leads_to_those_beside_it_on_screen(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(3))
    items = grid_world.ids(world, job)
    for item in items:
        grid_world.end(world, job, [item], 3, error=grid_world.failure("the shop is closed"))
    page = looker.page("ann", f"/jobs/{job}?status=ERROR")
    # The last change comes first.
    cell(page, items[1], "row").click()
    drawer = page.get_by_role("dialog")
    before = drawer.get_by_role("button", name="Item before this one")
    after = drawer.get_by_role("button", name="Item after this one")
    expect(before).not_to_have_attribute("aria-disabled", "true")
    drawer.get_by_role("button", name="Edit and run again").click()
    page.get_by_role("dialog", name="Edit item").get_by_role("button", name="Run with this input").click()
    expect(page).to_have_url(re.compile(f"item=(?!{items[1]})"))
    expect(drawer.get_by_text(f"Edited; before: Item {items[1]}")).to_be_visible()
    expect(after).not_to_have_attribute("aria-disabled", "true")
    before.click()
    expect(page).to_have_url(re.compile(f"item={items[2]}"))


def test_what_was_skipped_is_not_called_failed(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(1))
    item = grid_world.ids(world, job)[0]
    grid_world.end(world, job, [item], 5, error={"message": "the row has no title"})
    drawer = looker.page("ann", f"/jobs/{job}?item={item}").get_by_role("dialog")
    note = drawer.get_by_role("alert")
    expect(note).to_contain_text("Skipped")
    expect(note).to_contain_text("the row has no title")
    expect(note).not_to_contain_text("It failed")


def test_what_was_not_found_says_when_it_is_looked_for_again(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(2))
    world.sql(
        """with waiting as (
               update penstock.queue set attempt = 1, run_at = now() + interval '9 minutes', updated_at = now()
               where task_id = $1 returning task_id, stage, run_at, run)
           insert into penstock.attempts (task_id, stage, run, attempt, burned, cause, error, next_run_at)
           select task_id, stage, run, 1, true, 'not_found', '{"message": "nothing found"}', run_at from waiting""",
        item := grid_world.ids(world, job)[0],
    )
    page = looker.page("ann", f"/jobs/{job}")
    expect(cell(page, item, "status")).to_have_text("Not found yet")
    expect(cell(page, item, "why")).to_have_text(re.compile("^Looks again at .*, as try 2; not found at "))
    looker.shot(page, "not-found-yet")
    looker.go(page, f"/catalogues/{job}")
    expect(page.locator(f"[data-row='{item}'] [data-column='status']")).to_have_text("Not found yet")


def test_rows_appear_as_they_are_stored(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(3))
    page = looker.page("ann", f"/jobs/{job}")
    expect(page.locator("[data-row]")).to_have_count(3)
    grid_world.store(world, job, 4, 8)
    expect(page.locator("[data-row]")).to_have_count(8)
    assert cell(page, grid_world.ids(world, job)[7], "in:Title").inner_text() == "Lamp 8"


def test_all_that_match_but_one_run_again_as_a_job_with_progress(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(60))
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items[:50], 3, error=grid_world.failure("the shop is closed"))
    page = looker.page("ann", f"/jobs/{job}?status=ERROR")
    expect(page.locator("[data-row]").first).to_be_visible()
    page.get_by_role("checkbox", name="Select all that match").check()
    selection = page.get_by_role("region", name="Selection")
    expect(selection).to_contain_text("All 50 matching")
    page.get_by_role("checkbox", name=f"Select {items[49]}").uncheck()
    expect(selection).to_contain_text("All 49 matching")
    selection.get_by_role("button", name="Run 49 again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("49 failed")
    dialog.get_by_role("button", name="Run 49 again").click()
    expect(page.locator("[data-action-job]")).to_contain_text("done")
    states = world.sql(
        "select state, count(*) as n from penstock.task_states where job_id = $1 group by 1 order by 1", job
    )
    assert [(one["state"], one["n"]) for one in states] == [("ERROR", 1), ("PENDING", 59)]
    expect(cell(page, items[48], "status")).to_have_text("Waiting")
    page.get_by_role("link", name="Go to job").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Run again: 49 items")
    expect(page.locator("[data-row]").nth(1)).to_contain_text("49 items")
    audited = world.sql("select count(*) as n from penstock.audit where action = 'selection.reprocess'")
    assert audited[0]["n"] == 1


def test_picked_rows_are_copied_as_lines_for_a_spreadsheet(looker: Looker, world: World) -> None:
    job = grid_world.job(world, [{"Title": "=1+1", "Brand": "two\twords"}, {"Title": "Lamp", "Brand": "Bright"}])
    items = grid_world.ids(world, job)
    page = looker.page("ann", f"/jobs/{job}?columns=%5B%22in%3ATitle%22%2C%22in%3ABrand%22%5D")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for item in items:
        page.get_by_role("checkbox", name=f"Select {item}").check()
    page.get_by_role("button", name="Copy rows").click()
    expect(page.get_by_text("2 rows copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Title\tBrand\n'=1+1\ttwo words\nLamp\tBright"


def test_what_is_pending_is_listed_over_all_jobs_and_cancelled(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(12), name="Pending lamps")
    items = grid_world.ids(world, job)
    page = looker.page("ann", f"/pending?jobId={job}")
    expect(page.locator("[data-row]")).to_have_count(12)
    expect(cell(page, items[0], "title")).to_have_text("Lamp 1 · Brand 1")
    expect(cell(page, items[0], "progress")).to_contain_text("0/12 0 %")
    expect(cell(page, items[0], "type")).to_have_text("Rows")
    expect(cell(page, items[0], "why")).to_contain_text("paused")
    page.get_by_role("checkbox", name="Select all that match").check()
    expect(page.get_by_role("region", name="Selection")).to_contain_text("All 12 matching")
    page.get_by_role("checkbox", name=f"Select {items[11]}").uncheck()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Cancel 11").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 11").click()
    expect(cell(page, items[0], "status")).to_have_text("Cancelled")
    expect(cell(page, items[11], "status")).to_have_text("Waiting")
    expect(cell(page, items[11], "progress")).to_contain_text("11/12")
    page.get_by_label("Go to job").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pending lamps")
    # What the grid is narrowed to is not what is pending.
    page.get_by_text("Cancelled 11", exact=True).click()
    expect(page).to_have_url(re.compile("status="))
    expect(page.locator("[data-row]")).to_have_count(11)
    page.get_by_role("tab", name="Pending").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(cell(page, items[11], "status")).to_have_text("Waiting")
    page.get_by_role("tab", name="Grid").click()
    expect(page.locator("[data-row]")).to_have_count(11)


def test_what_has_waited_longest_is_at_the_top_of_what_is_pending(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(3), name="Waiting lamps")
    items = grid_world.ids(world, job)
    world.sql(
        "update penstock.queue set updated_at = updated_at - (task_id - $1) * interval '1 minute' where task_id > $1",
        items[0],
    )
    for path in (f"/pending?jobId={job}", f"/jobs/{job}?tab=pending"):
        page = looker.page("ann", path)
        expect(page.locator("[data-row]")).to_have_count(3)
        for place, item in enumerate(reversed(items)):
            expect(page.locator("[data-row]").nth(place)).to_have_attribute("data-row", str(item))
    # What is stored meanwhile has waited least.
    grid_world.store(world, job, 4, 4)
    expect(page.locator("[data-row]")).to_have_count(4)
    expect(page.locator("[data-row]").nth(3)).to_have_attribute("data-row", str(grid_world.ids(world, job)[3]))


def test_a_time_and_a_type_narrow_what_is_pending_in_the_address(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(2))
    page = looker.page("ann", f"/pending?jobId={job}")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.get_by_label("Changed before").fill("2020-01-01T00:00")
    expect(page).to_have_url(re.compile("until="))
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    page.get_by_role("button", name="Show all that is open").click()
    expect(page).not_to_have_url(re.compile("until="))
    expect(page.locator("[data-row]").first).to_be_visible()


def test_what_people_stored_is_text(looker: Looker, world: World) -> None:
    job = grid_world.job(world, [{"Title": HOSTILE, HOSTILE: LINK}], name=HOSTILE)
    item = grid_world.ids(world, job)[0]
    grid_world.end(
        world, job, [item], 3, result={"columns": {"Matched title": HOSTILE}}, error=grid_world.failure(HOSTILE)
    )
    page = looker.page("ann", "/jobs")
    for path in (f"/jobs/{job}", f"/jobs/{job}?tab=pending&pendingStatus=ERROR", f"/pending?jobId={job}&status=ERROR"):
        looker.go(page, path)
        expect(row(page, item)).to_contain_text("<img src=x onerror=alert(1)>")
        assert page.locator("[role=grid] img, [role=grid] script").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0


def test_a_viewer_sees_the_buttons_and_why_they_do_nothing(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(2), owner="eve")
    item = grid_world.ids(world, job)[0]
    page = looker.page("eve", f"/jobs/{job}")
    page.get_by_role("checkbox", name=f"Select {item}").check()
    button = page.get_by_role("region", name="Selection").get_by_role("button", name="Run 1 again")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("needs the role operator")
    button.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Copy rows")).not_to_have_attribute("aria-disabled", "true")


def test_everybody_can_read_it(looker: Looker, world: World) -> None:
    job = grid_world.job(world, lamps(30))
    items = grid_world.ids(world, job)
    grid_world.end(world, job, items[:2], 3, error=grid_world.failure("the shop is closed"))
    grid_world.end(world, job, items[2:4], 2, result={"columns": {"Matched title": "Desk lamp"}})
    page = looker.page("ann", "/jobs")
    for path in (f"/jobs/{job}", f"/jobs/{job}?tab=pending", f"/pending?jobId={job}"):
        looker.go(page, path)
        expect(row(page, items[5])).to_be_visible()
        page.get_by_role("checkbox", name=f"Select {items[5]}").check()
        for look in looker.looks(page, stay=True):
            assert (looker.axe(page), no_sideways(page)) == ([], True), (path, look)
    looker.go(page, f"/jobs/{job}?status=SKIPPED")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    for look in looker.looks(page):
        assert looker.axe(page) == [], look
