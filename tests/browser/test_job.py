"""Jobs as people meet them: from the empty list to the exported file."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(300)

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'
LINK = "javascript:alert(1)"


def submit(world: World, *lines: str, name: str = "orders", who: str = "ann", pipeline: str = "import_order") -> int:
    items = [{"line": line} for line in lines] if pipeline == "import_order" else [{"pages": int(one)} for one in lines]
    answer = world.api(who).post("/api/jobs", json={"pipeline": pipeline, "name": name, "items": items})
    assert answer.status_code == 202, answer.text
    job: int = answer.json()["jobId"]
    return job


def items_of(world: World, job: int, who: str = "ann") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.api(who).get(f"/api/jobs/{job}/items?sort=row").json()["items"]
    return found


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def state(page: Page) -> Any:
    return page.locator("main [data-state]").first


def act(page: Page, name: str) -> None:
    """From the menu beside the buttons."""
    page.get_by_role("button", name="More that can be done").click()
    page.get_by_role("menuitem", name=name).click()


@pytest.fixture
def held(world: World) -> Iterator[None]:
    """Nothing of the slow pipeline is started while the test goes on."""
    root = world.api("root")
    assert root.post("/api/stages/build_report/build_report/pause", json={"reason": "out of paper"}).status_code == 200
    yield
    root.post("/api/stages/build_report/build_report/resume")


@pytest.fixture(scope="module")
def orders(world: World) -> int:
    """One that ended: two rows well, one not, one of nothing that is sold."""
    lines = ("oak-table x 2", f"{IMAGE}{SCRIPT}", f"{LINK} x 1", "wool-rug x 1")
    return submit(world, *lines, name=f"orders {IMAGE}")


def test_an_empty_list_leads_to_the_first_upload(looker: Looker) -> None:
    page = looker.page("bob", "/jobs")
    expect(page.locator("[data-empty=nothing]")).to_contain_text("No jobs yet")
    page.locator("[data-empty=nothing]").get_by_role("link", name="Upload a file").click()
    expect(page).to_have_url(re.compile("/upload$"))


def test_an_empty_list_tells_a_viewer_whom_to_ask(looker: Looker) -> None:
    page = looker.page("eve", "/jobs")
    nothing = page.locator("[data-empty=nothing]")
    expect(nothing).to_contain_text("an admin can give you the role operator")
    expect(nothing).not_to_contain_text(re.compile("upload", re.IGNORECASE))


def test_a_job_is_found_looked_into_and_its_failed_row_is_fixed(looker: Looker, world: World, orders: int) -> None:
    page = looker.page("ann", "/jobs")
    alerts: list[str] = []

    def alerted(dialog: Dialog) -> None:
        alerts.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", alerted)
    row = page.locator(f"[data-job='{orders}']")
    expect(row.locator("[data-state=FAILED]")).to_be_visible()
    expect(row).to_contain_text(f"orders {IMAGE}")
    expect(row.get_by_role("link", name="See 1 failed row")).to_be_visible()
    row.get_by_role("link", name="orders").click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"orders {IMAGE}")
    expect(page.get_by_role("list", name="Stages of the pipeline")).to_contain_text("price")
    notice = page.get_by_role("alert").filter(has_text="1 row failed")
    expect(notice).to_contain_text("is not an order")
    notice.get_by_role("link", name="Fix the failed rows").click()
    expect(page).to_have_url(re.compile("status=.*ERROR"))

    failed = next(one["itemId"] for one in items_of(world, orders) if one["status"] == "ERROR")
    looker.go(page, f"/jobs/{orders}?item={failed}")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("PermanentError", exact=True)).to_be_visible()
    expect(drawer.get_by_role("region", name="Input")).to_contain_text(IMAGE + SCRIPT)
    expect(drawer).to_contain_text("shop.py")
    expect(drawer.get_by_text("Traceback")).not_to_be_visible()
    drawer.get_by_text("The whole trace").click()
    expect(drawer.get_by_role("region", name="The whole trace")).to_be_visible()

    assert looker.axe(page) == []

    drawer.get_by_role("button", name="Edit and run again").click()
    editing = page.get_by_role("dialog", name=f"Edit item {failed}")
    editing.get_by_label("Input").fill("[]")
    expect(editing.get_by_role("button", name="Run with this input")).to_be_disabled()
    editing.get_by_label("Input").fill('{"line": "brass-lamp x 3"}')
    editing.get_by_role("button", name="Run with this input").click()
    expect(drawer.locator("[data-state=DONE]").first).to_be_visible()
    expect(drawer.get_by_role("region", name="Result", exact=True)).to_contain_text("267")
    expect(drawer.get_by_text(f"Edited; before: Item {failed}")).to_be_visible()
    expect(page.locator(f"[data-job='{failed}']")).to_have_count(0)
    expect(page.get_by_role("alert").filter(has_text="failed")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(page).not_to_have_url(re.compile("item="))
    assert alerts == []
    assert page.locator("img[src=x]").count() == 0

    rows = [one["itemId"] for one in items_of(world, orders)]
    looker.go(page, f"/jobs/{orders}?item={rows[0]}")
    expect(drawer.get_by_role("button", name="Item before this one")).to_have_attribute("aria-disabled", "true")
    expect(drawer.get_by_role("button", name="Item after this one")).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile(f"item={rows[1]}"))
    expect(drawer.get_by_role("heading", name=f"Item {rows[1]}")).to_be_visible()
    expect(drawer.get_by_role("button", name="Item before this one")).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(f"item={rows[0]}"))


def test_filters_stand_in_the_address_and_new_jobs_wait_in_a_pill(looker: Looker, world: World, orders: int) -> None:
    other = submit(world, "oak-table x 1", name="lamps of spring")
    page = looker.page("ann", "/jobs")
    page.get_by_label("Name").fill("spring")
    expect(page).to_have_url(re.compile("q=spring"))
    expect(page.locator(f"[data-job='{orders}']")).to_have_count(0)
    expect(page.locator(f"[data-job='{other}']")).to_be_visible()
    page.get_by_role("combobox", name="State").click()
    page.get_by_role("option", name="Cancelled").click()
    expect(page.locator("[data-empty=filtered]")).to_contain_text("No job matches")
    assert looker.axe(page) == []
    page.get_by_role("link", name="Show all jobs").click()
    expect(page).to_have_url(re.compile("/jobs$"))
    expect(page.get_by_label("Name")).to_have_value("")
    expect(page.locator(f"[data-job='{orders}']")).to_be_visible()
    page.goto("/jobs?state=DONE&pipeline=import_order")
    expect(page.locator(f"[data-job='{other}']")).to_be_visible()

    page.goto("/jobs")
    expect(page.locator(f"[data-job='{other}']")).to_be_visible()
    expect(page.locator("[data-live=live]")).to_be_visible()
    second = submit(world, "oak-table x 2", name="the second one")
    pill = page.locator("[data-pill=new]")
    expect(pill).to_have_text("1 new")
    expect(page.locator(f"[data-job='{second}']")).to_have_count(0)
    world.api().post(f"/api/jobs/{other}/cancel")
    expect(page.locator(f"[data-job='{other}'] [data-state=CANCELLED]")).to_be_visible()
    pill.click()
    expect(page.locator(f"[data-job='{second}']")).to_be_visible()
    expect(pill).to_have_count(0)
    assert looker.axe(page) == []


def test_what_stands_still_says_why_and_is_decided_about(looker: Looker, world: World, held: None) -> None:
    job = submit(world, "5", "5", "5", name="reports", pipeline="build_report")
    page = looker.page("ann", f"/jobs/{job}")
    expect(page.locator("[data-eta]")).to_have_text("Stage build_report is paused by root: out of paper")
    page.get_by_role("button", name="Pause", exact=True).click()
    asking = page.get_by_role("dialog", name="Pause this job?")
    expect(asking).to_contain_text("3 waiting items")
    asking.get_by_label("Reason").fill(f"lunch {IMAGE}")
    asking.get_by_role("button", name="Pause job").click()
    expect(state(page)).to_have_attribute("data-state", "PAUSED")
    expect(page.get_by_role("alert").filter(has_text="Paused by ann")).to_contain_text(f"lunch {IMAGE}")

    item = items_of(world, job)[0]["itemId"]
    looker.go(page, f"/items/{item}")
    expect(page.locator("[data-why]")).to_contain_text("paused by root")
    page.get_by_role("link", name=f"Job {job}").click()
    page.get_by_role("button", name="Resume").click()
    expect(state(page)).to_have_attribute("data-state", "QUEUED")

    act(page, "Cancel job")
    asking = page.get_by_role("dialog", name="Cancel this job?")
    expect(asking).to_contain_text("3 waiting items will end as cancelled")
    asking.get_by_role("button", name="Cancel job").click()
    expect(state(page)).to_have_attribute("data-state", "CANCELLED")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_attribute("aria-disabled", "true")

    page.get_by_role("button", name="Run again").click()
    asking = page.get_by_role("dialog", name="Run items again")
    expect(asking.get_by_label("Cancelled: 3")).to_be_checked()
    expect(asking.get_by_label("Done: 0")).to_be_disabled()
    asking.get_by_role("button", name="Run 3 items again").click()
    expect(state(page)).not_to_have_attribute("data-state", "CANCELLED")

    page.get_by_role("tab", name="Timeline").click()
    expect(page).to_have_url(re.compile("tab=timeline"))
    told = page.locator("[data-event]")
    expect(told.filter(has_text="Paused")).to_contain_text(f"lunch {IMAGE}")
    for what in ("created", "resumed", "cancelled", "run_again"):
        expect(page.locator(f"[data-event={what}]")).to_be_visible()
    expect(page.locator("[data-slice=build_report]")).to_contain_text(re.compile("Claims|Nothing was claimed"))

    assert looker.axe(page) == []

    # The stream may tell of the change while the page of the job is still there, which then asks for it once more.
    looker.expected.append("status of 404")
    act(page, "Delete job")
    page.get_by_role("dialog", name="Delete this job?").get_by_role("button", name="Delete job").click()
    expect(page).to_have_url(re.compile("/jobs$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    expect(page.locator(f"[data-job='{job}']")).to_have_count(0)

    job = submit(world, "5", "5", name="later", pipeline="build_report")
    item, *_ = waiting = [one["itemId"] for one in items_of(world, job)]
    world.sql("update penstock.queue set run_at = now() + interval '2 minutes' where task_id = any($1)", waiting)
    world.api("root").post("/api/stages/build_report/build_report/resume")
    looker.go(page, f"/jobs/{job}")
    expect(page.locator("[data-eta]")).to_contain_text(re.compile(r"due in 1\d\d s"))
    expect(page.get_by_text(re.compile("is due"))).to_have_count(1)
    looker.go(page, f"/items/{item}")
    counting = page.locator("[data-countdown]")
    expect(counting).to_contain_text(re.compile(r"(1 min \d+ s|2 min) left"))
    before = counting.inner_text()
    expect(counting).not_to_have_text(before)
    assert looker.axe(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel item").click()
    expect(state(page)).to_have_attribute("data-state", "CANCELLED")
    page.get_by_role("button", name="Run again", exact=True).click()
    expect(state(page)).not_to_have_attribute("data-state", "CANCELLED")


def _many_rows(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | {"totalItems": 50_000})


def _export_many_rows(page: Page, job: int, refuse: dict[str, Any]) -> None:
    """The browser saves the file by itself, so the dialog says beforehand what it would not be told of."""
    page.route(f"**/api/jobs/{job}", _many_rows)
    page.goto(f"/jobs/{job}")
    dialog = page.get_by_role("dialog", name="Export")
    download = dialog.get_by_role("button", name="Download 50,000 rows")
    page.get_by_role("button", name="Export").click()
    page.route(f"**/api/jobs/{job}", lambda route: route.fulfill(**refuse))
    download.click()
    expect(dialog.get_by_role("alert")).to_contain_text("The disk is full.")
    assert len(page.context.pages) == 1

    page.route(f"**/api/jobs/{job}", _many_rows)
    with page.expect_download() as large:
        download.click()
    assert "oak-table" in large.value.path().read_text()
    expect(dialog.get_by_role("status")).to_contain_text("If no tab opens, allow pop-ups")
    expect(download).to_be_disabled()
    expect(dialog.get_by_role("alert")).to_have_count(0)

    dialog.get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="Export").click()
    page.context.route("**/export?*", lambda route: route.fulfill(**refuse))
    with page.expect_popup() as told:
        download.click()
    expect(told.value.locator("body")).to_contain_text("The disk is full.")
    told.value.close()
    page.unroute_all(behavior="wait")
    page.context.unroute_all(behavior="wait")


def test_a_job_is_exported_and_its_settings_tell_its_file_and_columns(
    looker: Looker, world: World, orders: int
) -> None:
    page = looker.page("ann", f"/jobs/{orders}")
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Export")
    rows = len(items_of(world, orders))
    expect(dialog).to_contain_text(f"{rows} rows")
    dialog.get_by_label("Keep formulas from running").check()
    with page.expect_download() as csv:
        dialog.get_by_role("button", name=f"Download {rows} rows").click()
    assert csv.value.suggested_filename.endswith(".csv")
    assert "oak-table" in csv.value.path().read_text()
    expect(dialog.get_by_role("status")).to_contain_text("is in your downloads")
    dialog.get_by_label("Excel (XLSX)").check()
    with page.expect_download() as sheet:
        dialog.get_by_role("button", name=f"Download {rows} rows").click()
    assert sheet.value.suggested_filename.endswith(".xlsx")
    assert sheet.value.path().read_bytes()[:2] == b"PK"

    looker.expected.append("status of 409")
    body = '{"title": "Not possible now", "detail": "The disk is full.", "requestId": "abc123"}'
    refuse: dict[str, Any] = {"status": 409, "content_type": "application/problem+json", "body": body}
    page.route("**/export?*", lambda route: route.fulfill(**refuse))
    dialog.get_by_role("button", name=f"Download {rows} rows").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The disk is full.")
    expect(dialog.get_by_role("alert")).to_contain_text("abc123")

    page.unroute("**/export?*")
    _export_many_rows(page, orders, refuse)

    file = {"file": (f"{IMAGE}.csv", f"Name,{quoted(SCRIPT)}\nlamp,{LINK}\n".encode())}
    fields = {"pipeline": "catalogue", "options": '{"roles": {"title": "Name"}}'}
    answer = world.api().post("/api/jobs", files=file, data=fields)
    assert answer.status_code == 202, answer.text
    job = answer.json()["jobId"]
    page.goto(f"/jobs/{job}?tab=settings")
    columns = page.get_by_role("region", name="Columns")
    expect(columns.get_by_role("row", name="Name")).to_contain_text("title")
    expect(columns).to_contain_text("<script>")
    expect(page.get_by_role("region", name="File")).to_contain_text(re.compile("[0-9a-f]{64}"))
    call = page.get_by_role("region", name="From a script")
    expect(call).to_contain_text(f"{world.address}/api/jobs/{job}")
    expect(call.get_by_role("button", name="Copy the call")).to_be_visible()
    assert looker.axe(page) == []
    item = items_of(world, job)[0]["itemId"]
    looker.go(page, f"/jobs/{job}?item={item}")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("region", name="Input")).to_contain_text(LINK)
    expect(drawer.get_by_role("link", name=re.compile("javascript"))).to_have_count(0)
    assert page.locator("img[src=x]").count() == 0


def test_a_viewer_sees_what_may_not_be_pressed_and_why(looker: Looker, world: World) -> None:
    job = submit(world, "oak-table x 1", "a table", name="of eve")
    world.sql("update penstock.jobs set owner = 'eve' where id = $1", job)
    world.sql("update penstock.tasks set owner = 'eve' where job_id = $1", job)
    failed = items_of(world, job, "eve")[1]["itemId"]
    page = looker.page("eve", f"/jobs/{job}?item={failed}")
    expect(page.get_by_role("dialog").locator("[data-state=ERROR]")).to_be_visible()
    for name in ("Edit and run again", "Run again"):
        button = page.get_by_role("dialog").get_by_role("button", name=name, exact=True)
        expect(button).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Escape")
    again = page.get_by_role("button", name="Run again")
    again.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("This needs the role operator; yours is viewer.")
    page.get_by_role("button", name="More that can be done").click()
    expect(page.get_by_role("menuitem", name="Delete job")).to_be_disabled()
    expect(page.get_by_text("This needs the role operator; yours is viewer.").last).to_be_visible()


def test_an_admin_sees_everybodys_jobs_and_whose_they_are(looker: Looker, orders: int) -> None:
    page = looker.page("root", "/jobs")
    page.get_by_label("Everybody's").check()
    expect(page).to_have_url(re.compile("everybody=true"))
    expect(page.locator(f"[data-job='{orders}']")).to_contain_text("ann")


def test_every_screen_is_for_everybody(looker: Looker, world: World, orders: int) -> None:
    item = items_of(world, orders)[0]["itemId"]
    screens = {
        "/jobs": "[data-job]",
        "/jobs?state=CANCELLED&q=nothing-like-it": "[data-empty]",
        f"/jobs/{orders}": "[role=tablist]",
        f"/jobs/{orders}?tab=timeline": "[data-event]",
        f"/jobs/{orders}?tab=settings": "section",
        f"/jobs/{orders}?item={item}": "[role=dialog] section",
        f"/items/{item}": "section",
    }
    page = looker.page("ann", "/jobs")
    for path, there in screens.items():
        looker.go(page, path)
        expect(page.locator(there).first).to_be_visible()
        for look in looker.looks(page, stay=True):
            assert looker.axe(page) == [], (path, look)
            wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1], (path, look)
