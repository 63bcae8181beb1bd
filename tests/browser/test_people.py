"""Getting in, what everybody may see and do, settings, the audit log, and the frame around every screen."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.looking import NARROW, SECONDS, WIDE, Looker
from tests.browser.world import World

pytestmark = pytest.mark.timeout(180)

PASSWORD = "lamps light the long corridor"
EVIL = '<img src=x onerror=alert(1)>"><script>alert(2)</script>javascript:alert(3)'


def h1(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text, timeout=SECONDS)


def no_sideways_scroll(page: Page) -> None:
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{page.url} is {wide} px too wide"


@contextmanager
def stranger(browser: Browser, world: World, *, dark: bool = False, narrow: bool = False) -> Iterator[BrowserContext]:
    """A browser that nobody is signed in with."""
    context = browser.new_context(
        base_url=world.address, viewport=NARROW if narrow else WIDE, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(SECONDS)
    yield context
    context.close()


def sign_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


@pytest.fixture(scope="module", autouse=True)
def work(world: World) -> None:
    """A job of ann's and one of bob's, and ann's password."""
    for name in ("ann", "bob"):
        body = {"pipeline": "demo", "name": f"{name}'s lamps", "rows": [["lamp"]], "columns": ["Name"]}
        world.api(name).post("/api/jobs", json=body)
    assert world.api("ann").put("/api/me/password", json={"new": PASSWORD}).status_code == 200


def test_a_link_lets_somebody_in_once_and_says_so_the_second_time(browser: Browser, world: World) -> None:
    link = world.login_link("bob")
    with stranger(browser, world) as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Log in").click()
        h1(page, "Overview")
    with stranger(browser, world) as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("it works once, within 15 minutes")).to_be_visible()


def test_a_password_lets_somebody_in_where_they_wanted_to_be(browser: Browser, world: World) -> None:
    with stranger(browser, world) as context:
        page = context.new_page()
        page.goto("/schedules")
        page.wait_for_url(re.compile("/login\\?next=%2Fschedules"))
        expect(page.get_by_label("Name")).to_be_focused()
        sign_in(page, "ann", "not this one at all")
        expect(page.get_by_role("alert")).to_contain_text("do not let you in")
        expect(page.get_by_label("Name")).to_have_value("ann")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        h1(page, "Schedules")
        assert page.url == f"{world.address}/schedules"


def test_no_address_leads_away_after_the_login(browser: Browser, world: World) -> None:
    with stranger(browser, world) as context:
        page = context.new_page()
        page.goto("/login?next=//evil.example/")
        sign_in(page, "ann", PASSWORD)
        h1(page, "Overview")
        assert page.url == f"{world.address}/"


@pytest.mark.parametrize(("dark", "narrow"), [(False, False), (True, True)])
def test_the_sign_in_page_is_for_everybody(
    browser: Browser, world: World, looker: Looker, dark: bool, narrow: bool
) -> None:
    with stranger(browser, world, dark=dark, narrow=narrow) as context:
        page = context.new_page()
        for address in ("/login", "/login?code=abc"):
            page.goto(address)
            assert looker.axe(page) == []
            no_sideways_scroll(page)
        page.goto("/login")
        sign_in(page, EVIL, "x")
        expect(page.get_by_role("alert")).to_be_visible()
        assert looker.axe(page) == []
        assert page.locator("img, script").count() == 0
        if looker._shots:
            page.screenshot(path=looker._shots.parent / f"login-{'dark' if dark else 'light'}.png")


def test_one_does_not_see_what_another_submitted_and_an_admin_sees_all(world: World) -> None:
    names = {name: {job["name"] for job in world.api(name).get("/api/jobs").json()["items"]} for name in ("ann", "bob")}
    assert (names["ann"], names["bob"]) == ({"ann's lamps"}, {"bob's lamps"})
    everybodys = world.api("root").get("/api/jobs", params={"userId": "all"}).json()["items"]
    assert {job["name"] for job in everybodys} >= {"ann's lamps", "bob's lamps"}


def test_the_palette_finds_ones_own_jobs_by_name_and_nobody_elses(looker: Looker) -> None:
    page = looker.page("ann")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to")
    box.fill("lamps")
    expect(page.get_by_role("option", name="ann's lamps")).to_be_visible()
    assert page.get_by_role("option", name="bob's lamps").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("48")
    expect(page.get_by_role("option").first).to_contain_text("Job 48")
    page.get_by_role("combobox", name="Go to").fill("a&b")
    page.get_by_role("option", name="Search articles").click()
    page.wait_for_url(re.compile(r"/search\?q=.*"))
    assert "a%26b" in page.url


def test_the_palette_pauses_a_stage_with_a_reason(looker: Looker, world: World) -> None:
    page = looker.page("ann")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("pause stage demo")
    page.keyboard.press("Enter")
    page.get_by_label("Reason").fill("provider down")
    page.keyboard.press("Enter")
    expect(page.get_by_text("is paused.")).to_be_visible()
    [entry] = world.api("root").get("/api/audit", params={"action": "stage.pause"}).json()["items"]
    assert (entry["actor"], entry["details"]["reason"]) == ("ann", "provider down")
    pipeline, stage = entry["object"].split("/")
    world.api("root").post(f"/api/stages/{pipeline}/{stage}/resume")


def test_a_viewer_is_offered_nothing_they_may_not_do_and_told_why(looker: Looker) -> None:
    page = looker.page("eve", "/settings?tab=users")
    expect(page.get_by_text("This needs the role admin; yours is viewer.")).to_be_visible()
    assert page.get_by_role("link", name="Audit").count() == 0
    page.goto("/audit")
    expect(page.get_by_text("This needs the role operator")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("pause stage")
    expect(page.get_by_role("option")).to_have_count(1)


def test_keys_lead_everywhere_and_focus_moves_to_the_heading(looker: Looker) -> None:
    page = looker.page("ann", "/settings")
    page.keyboard.press("g")
    page.keyboard.press("j")
    h1(page, "Jobs")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert page.title() == "Jobs · Penstock"
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet.get_by_text("Go to Schedules")).to_have_count(0)
    expect(sheet.get_by_text("Go to Jobs")).to_be_visible()
    assert looker.axe(page) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.reload()
    h1(page, "Jobs")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url == f"{looker._world.address}/jobs"


def test_the_navigation_of_a_small_screen_opens_closes_and_keeps_out_of_the_way(looker: Looker) -> None:
    page = looker.page("ann", "/jobs", narrow=True)
    expect(page.locator("[data-live]")).to_contain_text("Live")
    assert page.locator("#screens").get_attribute("inert") is not None
    page.get_by_role("button", name="Navigation", exact=True).click()
    link = page.get_by_role("link", name="Settings")
    expect(link).to_be_in_viewport()
    assert looker.axe(page) == []
    link.click()
    h1(page, "Settings")
    expect(page.locator("#screens")).to_have_attribute("inert", "")
    no_sideways_scroll(page)


def test_the_theme_is_kept(looker: Looker) -> None:
    page = looker.page("bob", "/settings")
    page.get_by_text("Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.get_by_role("button", name="Account of bob").click()
    page.get_by_role("menuitem", name="As the system").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "light")


def test_live_is_paused_and_goes_on_and_another_tab_takes_over(looker: Looker, world: World) -> None:
    first = looker.page("ann", "/settings")
    second = looker.page("ann", "/settings")
    for page in (first, second):
        expect(page.locator("[data-live=live]")).to_be_visible()
    first.close()
    with second.expect_response(re.compile("/api/me")):
        second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        second.reload()
    expect(second.locator("[data-live=live]")).to_be_visible()
    pill = second.locator("[data-live]")
    pill.click()
    expect(pill).to_have_attribute("data-live", "paused")
    expect(pill).to_contain_text("Paused")
    expect(pill).to_have_attribute("aria-pressed", "true")
    pill.click()
    expect(pill).to_have_attribute("data-live", "live")
