"""What failed: found by its kind, looked at, tried again with care, mended."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(300)

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def failed(world: World) -> int:
    """A job of ann's: four orders that cannot be read, with everything in them that a page must not run."""
    lines = ["oak-table x 2", f"{IMAGE} please", f"{SCRIPT} please", "javascript:alert(1) please", "nonsense"]
    body = {"pipeline": "import_order", "name": "orders", "items": [{"line": line} for line in lines]}
    answer = world.api("ann").post("/api/jobs", json=body)
    assert answer.status_code == 202, answer.text
    job: int = answer.json()["jobId"]
    return job


@pytest.fixture(scope="module", autouse=True)
def message(world: World) -> int:
    """One that nobody could read, as the collector would have stored it."""
    rows = world.sql(
        "insert into penstock.dead_messages (transport, queue, raw, reason, deliveries, digest, token)"
        " values ('redis', 'penstock:send_receipt', $1, $2, 3, sha256($1), 't') returning id",
        f'{{"v": 1, "task": "{IMAGE}"}}'.encode(),
        f"it is no envelope {IMAGE}",
    )
    found: int = rows[0]["id"]
    return found


def groups(page: Page) -> int:
    return page.locator("[data-group]").count()


def until_failed(page: Page, number: int) -> None:
    """Errors are told by the overview's event; whoever comes too early sees them appear."""
    expect(page.locator("[data-group]").first).to_be_visible()
    expect(page.get_by_role("table", name="Groups of errors")).to_contain_text(str(number))


def test_a_kind_of_error_is_looked_at_tried_and_its_canary_stops_the_rest(looker: Looker, failed: int) -> None:
    page = looker.page("ann", "/errors")
    until_failed(page, 1)
    expect(page.locator("main")).to_contain_text("is not an order")
    assert page.locator("img[src=x]").count() == 0
    page.locator("[data-group]").filter(has_text="nonsense").get_by_role("button").click()
    expect(page).to_have_url(re.compile("group=[0-9a-f]{16}"))
    drawer = page.get_by_role("dialog", name="is not an order")
    expect(drawer).to_contain_text("shop.py")
    expect(drawer).to_contain_text("Same words")
    expect(drawer).to_contain_text("PermanentError")
    assert looker.axe(page) == []
    drawer.get_by_role("button", name="Run all again").click()
    asked = page.get_by_role("dialog", name="Run this group again")
    expect(asked).to_contain_text("1 item would run again.")
    asked.get_by_role("button", name="Run them again").click()
    expect(asked.get_by_role("status")).to_contain_text("failed again with the same error")
    asked.get_by_role("link", name=re.compile("Look at item")).click()
    expect(page).to_have_url(re.compile(r"/items/\d+$"))


def test_dead_letters_are_filtered_opened_edited_and_done(looker: Looker, world: World, failed: int) -> None:
    page = looker.page("ann", "/dead-letters?pipeline=import_order")
    grid = page.get_by_role("grid", name="Failed items")
    expect(grid.locator("[data-row]")).to_have_count(4)
    assert page.locator("img[src=x]").count() == 0
    grid.locator("[data-row]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"item=\d+"))
    drawer = page.get_by_role("dialog").first
    drawer.get_by_role("button", name="Edit and run again").click()
    editing = page.get_by_role("dialog", name=re.compile("^Edit item"))
    editing.get_by_label("Input").fill('{"line": "brass-lamp x 3"}')
    editing.get_by_role("button", name="Run with this input").click()
    expect(drawer.locator("[data-state=DONE]").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Look again").click()
    expect(grid.locator("[data-row]")).to_have_count(3)


def test_nothing_that_matches_and_nothing_at_all_look_different(looker: Looker) -> None:
    page = looker.page("bob", "/dead-letters")
    expect(page.locator("[data-empty=nothing]")).to_contain_text("Nothing failed")
    looker.go(page, "/dead-letters?pipeline=send_receipt")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("No failed item matches")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("[data-empty=nothing]")).to_be_visible()
    looker.go(page, "/errors")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("shown to them and to admins")


def test_a_viewer_sees_the_buttons_and_why_they_are_not_for_them(looker: Looker, world: World, failed: int) -> None:
    page = looker.page("eve", "/dead-letters")
    button = page.get_by_role("button", name="Run all that match again")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()


def test_an_admin_reads_changes_and_throws_away_messages_of_brokers(looker: Looker, message: int) -> None:
    page = looker.page("root", "/dead-letters?tab=messages")
    page.locator(f"[data-message='{message}']").get_by_role("button").click()
    drawer = page.get_by_role("dialog", name=f"Message {message}")
    expect(drawer.get_by_label("As text")).to_have_value(re.compile("onerror"))
    expect(drawer.get_by_label("Its bytes")).to_contain_text("7b 22 76 22")
    assert page.locator("img[src=x]").count() == 0
    assert looker.axe(page) == []
    drawer.get_by_role("button", name="Throw away").click()
    page.get_by_role("dialog", name=f"Throw message {message} away?").get_by_role("button", name="Throw away").click()
    expect(page.locator("[data-empty=nothing]")).to_contain_text("No message is dead")


def test_the_screens_hold_in_the_dark_and_on_a_telephone(looker: Looker, failed: int) -> None:
    page = looker.page("root", "/errors?everybody=true")
    shown = page.locator("main [data-group], main [data-row], main [data-empty], main [data-message]").first
    for path in ("/errors?everybody=true", "/dead-letters?everybody=true", "/dead-letters?tab=messages"):
        looker.go(page, path)
        for look in looker.looks(page, stay=True):
            expect(shown).to_be_visible()
            assert looker.axe(page) == [], (path, look)
            assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], (path, look)
