"""Those who run it: the overview, stages, workers, limits and schedules, from a fresh instance to a busy one."""

import re
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(180)

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'
LINK = "javascript:alert(1)"
STAGE = "/stages/send_receipt/send_receipt"
SCREENS = ["/", "/stages", STAGE, "/workers", "/limits", "/schedules"]


def _enqueue(world: World, pipeline: str, argument: str, value: Any, *, times: int = 1, delay: int = 0) -> None:
    world.sql(
        """select penstock.enqueue($1, jsonb_build_object($2::text, $3::jsonb), owner => 'ann',
                                   run_at => now() + $5 * interval '1 second')
           from generate_series(1, $4)""",
        pipeline,
        argument,
        f'"{value}"' if isinstance(value, str) else str(value),
        times,
        delay,
    )


def _job(world: World, name: str, count: int = 3) -> int:
    (row,) = world.sql(
        "insert into penstock.jobs (pipeline, name, owner) values ('send_receipt', $1, 'ann') returning id", name
    )
    world.sql(
        """select penstock.enqueue('send_receipt', '{"order": 7}', owner => 'ann', job_id => $1)
           from generate_series(1, $2)""",
        row["id"],
        count,
    )
    number: int = row["id"]
    return number


def _no_alert(page: Page) -> list[str]:
    """Filled when a page shows a dialog, which only a script that was smuggled in would do."""
    shown: list[str] = []

    def said(dialog: Dialog) -> None:
        shown.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", said)
    return shown


def _fits(page: Page) -> bool:
    fits: bool = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return fits


def test_a_fresh_instance_teaches_the_first_step(looker: Looker) -> None:
    page = looker.page("ann")
    expect(page.get_by_role("heading", name="Nothing of yours is here yet")).to_be_visible()
    expect(page.get_by_text("penstock demo")).to_be_visible()
    page.get_by_role("link", name="Upload a file").click()
    expect(page).to_have_url(re.compile("/upload"))


def test_the_overview_shows_what_runs_and_where_to_go_next(looker: Looker, world: World) -> None:
    page = looker.page("ann")
    job = _job(world, f"Receipts {IMAGE}")
    row = page.locator(f"[data-job='{job}']")
    expect(row).to_contain_text(IMAGE)
    expect(row.locator("[data-state=DONE]")).to_be_visible()
    expect(row).to_contain_text("3/3")
    # A failure needs attention, and the next step is a link.
    _enqueue(world, "check_stock", "sku", "broken-lamp")
    attention = page.locator("[data-attention=failures]")
    expect(attention).to_contain_text("1 task of check_stock failed in the last hour.")
    expect(page.locator("[data-tile=Failed]")).to_contain_text("1")
    expect(page.get_by_role("figure", name="Items per minute")).to_be_visible()
    page.get_by_text("6 h", exact=True).click()
    expect(page).to_have_url(re.compile("minutes=360"))
    page.reload()
    expect(page.get_by_role("radio", name="6 h")).to_be_checked()
    page.get_by_role("button", name="Backlog as a table").click()
    expect(page.get_by_role("table", name="Backlog").get_by_role("columnheader", name="waiting")).to_be_visible()
    for name in ("Catalogues", "Sites", "Linking", "Articles"):
        expect(page.locator(f"[data-application={name}]")).to_be_visible()
    attention.get_by_role("link", name="See the stage").click()
    expect(page).to_have_url(re.compile("/stages/check_stock/check_stock"))
    # What failed is somebody else's, which only an admin is shown.
    admins = looker.page("root")
    admins.locator("[data-attention=failures]").get_by_role("link", name="See what failed").click()
    expect(admins.get_by_role("grid").or_(admins.get_by_role("table")).first).to_contain_text("check_stock")


def test_a_viewer_is_invited_to_nothing_that_they_may_not_do(looker: Looker) -> None:
    page = looker.page("eve")
    expect(page.get_by_text("Your role is viewer.")).to_be_visible()
    expect(page.locator("[data-application=Articles]")).to_contain_text("Nothing yet.")
    main = page.locator("#main")
    for words in ("Upload", "Analyse a website", "Link a dataset", "Write an article"):
        expect(main.get_by_role("link", name=words)).to_have_count(0)


def test_what_is_due_later_has_no_time_at_the_pace_of_what_was_done(looker: Looker, world: World) -> None:
    _job(world, "Done a moment ago")
    _enqueue(world, "send_receipt", "order", 1, times=5, delay=3600)
    row = looker.page("ann", "/stages").locator("[data-stage='send_receipt/send_receipt']")
    expect(row).to_contain_text(re.compile("The next one is due in (1 h|59 m|60 m)"))
    expect(row).not_to_contain_text(" at ")


def test_a_stage_is_paused_with_a_reason_limited_and_resumed(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/stages")
    alerts = _no_alert(page)
    row = page.locator("[data-stage='send_receipt/send_receipt']")
    _enqueue(world, "send_receipt", "order", 1, times=5, delay=3600)
    row.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(IMAGE)
    dialog.get_by_role("button", name="Pause stage").click()
    expect(row).to_contain_text(f"by ann, just now: {IMAGE}")
    # Everything that waits says why.
    expect(row).to_contain_text(f"Paused by ann: {IMAGE}")
    row.get_by_role("button", name="Limit").click()
    dialog.get_by_label("Most that run at a time").fill("2")
    dialog.get_by_role("button", name="Set limit").click()
    expect(row).to_contain_text("of at most 2")
    row.get_by_role("link", name="send_receipt").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("send_receipt")
    # Beside it there are notes in the corner of what was done.
    note = page.locator("main").get_by_role("alert")
    expect(note).to_contain_text(IMAGE)
    expect(page.get_by_role("figure", name="Backlog")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(note).to_have_count(0)
    page.get_by_role("button", name="Limit").click()
    dialog.get_by_label("Most that run at a time").fill("")
    dialog.get_by_role("button", name="Take the limit away").click()
    expect(page.get_by_text("0, no limit")).to_be_visible()
    assert alerts == []


def test_a_stage_that_is_paused_stays_where_it_was_until_the_next_visit(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/stages")
    rows = page.locator("[data-stage]")
    expect(rows.first).to_be_visible()
    before = [one.get_attribute("data-stage") for one in rows.all()]
    rows.last.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause stage").click()
    expect(rows.last.get_by_role("button", name="Resume")).to_be_visible()
    assert [one.get_attribute("data-stage") for one in rows.all()] == before
    page.reload()
    expect(rows.last).not_to_have_attribute("data-stage", before[-1] or "")
    page.locator(f"[data-stage='{before[-1]}']").get_by_role("button", name="Resume").click()
    expect(page.locator(f"[data-stage='{before[-1]}']").get_by_role("button", name="Pause")).to_be_visible()


def test_stages_are_found_by_name_and_the_address_remembers_it(looker: Looker) -> None:
    page = looker.page("ann", "/stages")
    page.get_by_label("Find a stage").fill("import_order")
    expect(page.locator("[data-stage]")).to_have_count(2)
    expect(page).to_have_url(re.compile("q=import_order"))
    page.reload()
    expect(page.locator("[data-stage]")).to_have_count(2)
    page.get_by_label("Find a stage").fill("no such stage")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    looker.expected.append("404")
    looker.go(page, "/stages/no/such")
    expect(page.get_by_role("alert")).to_contain_text("no/such")


def test_a_worker_shows_what_it_runs_and_a_late_heartbeat_stands_out(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/workers")
    alerts = _no_alert(page)
    alive = page.locator("[data-worker]").first
    expect(alive.locator("[data-state=ALIVE]")).to_be_visible()
    # Long enough for several heartbeats.
    _enqueue(world, "build_report", "pages", 400)
    item = alive.locator("a[href^='/items/']").first
    expect(item).to_be_visible()
    world.sql(
        """insert into penstock.workers (supervisor, name, host, pid, version, heartbeat_at, lease_until)
           values (gen_random_uuid(), $1, $2, 7, '0.0.1', now() - interval '200 s', now() + interval '100 s')""",
        f"frozen {IMAGE}",
        LINK,
    )
    frozen = page.locator("[data-worker^=frozen]")
    expect(frozen.locator("[data-late=true]")).to_contain_text("Late")
    frozen.get_by_role("link", name="frozen").click()
    expect(page).to_have_url(re.compile("worker="))
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Its heartbeat is late")
    expect(drawer).to_contain_text(LINK)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    alive.get_by_role("link").first.click()
    expect(drawer).to_contain_text("build_report")
    world.sql("delete from penstock.workers where name like 'frozen%'")
    assert alerts == []


def test_a_limit_is_set_blocked_for_a_while_and_removed(looker: Looker) -> None:
    page = looker.page("ann", "/limits")
    alerts = _no_alert(page)
    expect(page.get_by_role("heading", name="No limits yet")).to_be_visible()
    page.get_by_role("button", name="Set a limit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key").fill(SCRIPT)
    dialog.get_by_label("Permits").fill("30")
    dialog.get_by_role("combobox", name="per").click()
    page.get_by_role("option", name="minute").click()
    dialog.get_by_label("At once").fill("5")
    dialog.get_by_label("Stop after").fill("3")
    dialog.get_by_role("button", name="Set limit").click()
    row = page.locator("[data-limit]")
    expect(row).to_contain_text(SCRIPT)
    expect(row).to_contain_text("30/min")
    expect(row).to_contain_text("5/5 left")
    row.get_by_role("button", name="Block").click()
    dialog.get_by_label("Seconds").fill("45")
    dialog.get_by_label("Reason").fill(IMAGE)
    dialog.get_by_role("button", name="Block").click()
    expect(row).to_contain_text(re.compile(r"opens in 4\d s"))
    expect(row).to_contain_text("1 time")
    expect(row).to_contain_text(IMAGE)
    # It counts down by itself.
    expect(row).to_contain_text(re.compile(r"opens in 3\d s"))
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Permits").fill("60")
    dialog.get_by_role("button", name="Change limit").click()
    expect(row).to_contain_text("1/s")
    row.get_by_role("button", name="Remove").click()
    dialog.get_by_role("button", name="Remove limit").click()
    expect(page.get_by_role("heading", name="No limits yet")).to_be_visible()
    assert alerts == []


def test_a_schedule_shows_its_next_times_and_changes_of_others_appear_at_once(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/schedules")
    page.get_by_role("link", name="heartbeat").click()
    expect(page).to_have_url(re.compile("name=heartbeat"))
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("listitem").first).to_be_visible()
    assert world.api("bob").post("/api/schedules/heartbeat/pause").status_code == 200
    expect(drawer).to_contain_text("None while it is paused")
    page.keyboard.press("Escape")
    assert world.api("bob").post("/api/schedules/heartbeat/resume").status_code == 200
    expect(page.locator("[data-state=PAUSED]")).to_have_count(0)


def test_a_viewer_sees_it_all_and_may_press_nothing(looker: Looker, world: World) -> None:
    world.api("ann").put("/api/limits", json={"key": "supplier", "rate": 5})
    page = looker.page("eve", "/stages")
    for path, name in [("/stages", "Pause"), (STAGE, "Limit"), ("/limits", "Remove"), ("/schedules", "Run now")]:
        page.goto(path)
        button = page.get_by_role("button", name=name, exact=True).first
        expect(button).to_have_attribute("aria-disabled", "true")
        button.focus()
        expect(page.get_by_role("tooltip")).to_contain_text("This needs the role operator; yours is viewer.")
        button.click(force=True)
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_every_screen_is_within_reach_of_everybody(looker: Looker, world: World) -> None:
    world.api("ann").put("/api/limits", json={"key": f"supplier {IMAGE}", "rate": 5})
    world.api("ann").post("/api/limits/block", json={"key": f"supplier {IMAGE}", "seconds": 600, "reason": SCRIPT})
    page = looker.page("ann")
    alerts = _no_alert(page)
    for path in SCREENS:
        looker.go(page, path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        for look in looker.looks(page, stay=True):
            if path in ("/", STAGE):
                expect(page.locator("figure canvas").first).to_be_visible()
            assert looker.axe(page) == [], (path, look)
            assert _fits(page), f"{path} scrolls sideways at {page.viewport_size}"
            looker.shot(page, f"{path.strip('/').replace('/', '-') or 'overview'}-{look}")
    assert alerts == []
