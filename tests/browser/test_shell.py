"""The frame around every screen."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.looking import Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(180)
# What the console says of a script that is missing.
PART = "dynamically imported module|[Pp]reload"


def test_somebody_signed_in_sees_where_they_are_and_that_it_is_live(looker: Looker) -> None:
    page = looker.page("ann")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(page.locator("[data-live=live]")).to_be_visible()
    assert looker.axe(page) == []


def test_the_palette_leads_to_any_screen_by_keyboard_alone(looker: Looker) -> None:
    page = looker.page("ann")
    _find(page, "schedul")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")


def test_an_address_that_leads_nowhere_says_so(looker: Looker) -> None:
    page = looker.page("ann", "/no/such/screen")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing here")


def test_a_screen_opened_while_the_service_is_away_says_so_and_comes_by_itself(looker: Looker, world: World) -> None:
    looker.expected.append(PART)
    page = looker.page("ann", "/stages")
    with looker.service_away():
        world.stop()
        try:
            _go_to(page, "Schedules")
            expect(page.locator("[data-away]")).to_contain_text("Penstock does not answer")
            looker.shot(page, "away")
            assert looker.axe(page) == []
        finally:
            world.start()
        expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
        expect(page.get_by_text("heartbeat").first).to_be_visible()
        expect(page.locator("[data-live=live]")).to_be_visible()


def test_what_a_screen_shows_comes_by_itself_when_the_service_answers_again(looker: Looker) -> None:
    looker.expected += ["ERR_FAILED"]
    page = looker.page("ann", "/stages")
    page.route("**/api/schedules*", lambda route: route.abort())
    _go_to(page, "Schedules")
    expect(page.locator("[data-away]")).to_be_visible()
    page.unroute("**/api/schedules*")
    expect(page.get_by_text("heartbeat").first).to_be_visible()


def test_a_page_of_an_older_build_loads_the_new_one(looker: Looker) -> None:
    looker.expected += ["404", PART]
    page = looker.page("ann", "/stages")
    loads = _loads(page)
    page.route("**/assets/Schedules-*.js", lambda route: route.continue_() if loads else route.fulfill(status=404))
    _go_to(page, "Schedules")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    expect(page.get_by_text("heartbeat").first).to_be_visible()
    assert page.url.endswith("/schedules")
    assert len(loads) == 1


def test_a_part_that_stays_missing_is_told_after_one_more_try(looker: Looker) -> None:
    looker.expected += ["404", PART]
    page = looker.page("ann", "/stages")
    loads = _loads(page)
    page.route("**/assets/Schedules-*.js", lambda route: route.fulfill(status=404))
    _go_to(page, "Schedules")
    expect(page.get_by_role("alert")).to_contain_text("A part of this page could not be fetched")
    looker.shot(page, "missing")
    assert len(loads) == 1


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
def test_a_notice_covers_nothing_that_one_can_press(looker: Looker, narrow: bool) -> None:
    page = looker.page("ann", "/schedules", narrow=narrow)
    page.get_by_role("button", name="Run now").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    notice = page.locator(".toasts [role=alert]")
    expect(notice).to_be_visible()
    assert _covered(page) == []
    assert looker.axe(page) == []
    looker.shot(page, "schedules")


def _find(page: Page, words: str) -> None:
    page.keyboard.press("Control+k")
    page.get_by_placeholder("Go to").or_(page.get_by_role("combobox")).first.fill(words)
    page.keyboard.press("Enter")


def _loads(page: Page) -> list[str]:
    """Where the page was loaded anew from now on."""
    found: list[str] = []
    page.on("request", lambda asked: found.append(asked.url) if asked.is_navigation_request() else None)
    return found


def _go_to(page: Page, screen: str) -> None:
    page.get_by_role("navigation", name="Screens").get_by_role("link", name=screen).click()


def _covered(page: Page) -> list[str]:
    """What one could press were it not for a notice over it."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, [role=tab]")].filter((one) => {
          if (one.closest(".toasts") || one.closest("[inert]")) return false;
          const box = one.getBoundingClientRect();
          const over = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
          return over?.closest(".toasts");
        }).map((one) => one.outerHTML.slice(0, 200))"""
    )
    return found


def test_an_application_without_extensions_shows_no_screen_of_one(looker: Looker, world: World) -> None:
    world.stop()
    world.start(app="tests.outside.plain_app:app")
    try:
        page = looker.page("ann")
        menu = page.get_by_label("Screens")
        expect(menu.get_by_role("link", name="Jobs", exact=True)).to_be_visible()
        for name in ("Catalogues", "Sites", "Linking", "Articles", "Search", "Index"):
            expect(menu.get_by_role("link", name=name, exact=True)).to_have_count(0)
        expect(page.get_by_role("heading", name="Applications")).to_have_count(0)
        page.goto(f"{world.address}/articles")
        expect(page.get_by_text("Articles is not installed")).to_be_visible()
        assert looker.axe(page) == []
        # It takes no files, and has nothing that the demonstration needs.
        page.goto(f"{world.address}/")
        expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
        expect(page.get_by_text("penstock demo")).to_have_count(0)
        page.goto(f"{world.address}/upload")
        file = FilePayload(name="list.csv", mimeType="text/csv", buffer=b"name\nlamp\n")
        page.locator("input[type=file]").set_input_files(file)
        expect(page.get_by_text("None takes this file")).to_be_attached()
        expect(page.get_by_role("button", name="Upload 1 row")).to_be_disabled()
        page.goto("about:blank")
    finally:
        world.stop()
        world.start()
