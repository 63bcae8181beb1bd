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
        body = {"pipeline": "catalogue", "name": f"{name}'s lamps", "items": [{"name": "lamp"}]}
        answer = world.api(name).post("/api/jobs", json=body)
        assert answer.status_code == 202, answer.text
    with world.signed_in("ann") as ann:
        assert ann.put("/api/me/password", json={"new": PASSWORD}).status_code == 200


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
    stage = world.api("ann").get("/api/stages").json()["items"][0]["stage"]
    page = looker.page("ann")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill(f"pause stage {stage}")
    expect(page.get_by_role("option").first).to_contain_text("Pause stage")
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
    looker.go(page, "/audit")
    expect(page.get_by_text("This needs the role operator")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("pause stage")
    expect(page.get_by_role("option", name="Stages")).to_be_visible()
    assert page.get_by_role("option", name=re.compile("^Pause stage")).count() == 0


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
    link.scroll_into_view_if_needed()
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


def test_a_second_tab_takes_over_when_the_one_that_listens_is_closed(looker: Looker) -> None:
    first = looker.page("ann", "/settings")
    second = looker.page("ann", "/settings")
    for page in (first, second):
        expect(page.locator("[data-live=live]")).to_be_visible()
    with second.expect_request(re.compile("/api/stream")):
        first.close()
    expect(second.locator("[data-live=live]")).to_be_visible()


def test_live_is_paused_and_goes_on(looker: Looker) -> None:
    page = looker.page("ann", "/settings")
    pill = page.locator("[data-live]")
    expect(pill).to_have_attribute("data-live", "live")
    pill.click()
    expect(pill).to_have_attribute("data-live", "paused")
    expect(pill).to_contain_text("Paused")
    expect(pill).to_have_attribute("aria-pressed", "true")
    pill.click()
    expect(pill).to_have_attribute("data-live", "live")


def test_somebody_sets_a_password_and_the_other_browser_is_out(looker: Looker, browser: Browser, world: World) -> None:
    looker.expected.append("400")
    page = looker.page("bob", "/settings")
    with stranger(browser, world) as context:
        elsewhere = context.new_page()
        elsewhere.goto(world.login_link("bob"))
        elsewhere.get_by_role("button", name="Log in").click()
        h1(elsewhere, "Overview")
        elsewhere.goto("/schedules")
        h1(elsewhere, "Schedules")
        page.get_by_label("New password").fill("bob bob bob bob")
        page.get_by_label("Once more").fill("something else entirely")
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("alert")).to_contain_text("not the same")
        page.get_by_label("Once more").fill("bob bob bob bob")
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("alert")).to_contain_text("will not do")
        for label in ("New password", "Once more"):
            page.get_by_label(label).fill("a heron waits at the weir")
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("button", name="Change password")).to_be_visible()
        elsewhere.reload()
        elsewhere.wait_for_url(re.compile(r"/login\?next=%2Fschedules"))
        sign_in(elsewhere, "bob", "a heron waits at the weir")
        h1(elsewhere, "Schedules")
        # And ended from here, without a word of the one who is there.
        page.reload()
        page.get_by_role("button", name="End the session of").first.click()
        expect(page.get_by_text("is signed out.")).to_be_visible()
        elsewhere.wait_for_url(re.compile("/login"), timeout=60_000)


def test_an_admin_adds_lets_in_promotes_and_disables_a_user(looker: Looker, browser: Browser, world: World) -> None:
    page = looker.page("root", "/settings?tab=users")
    page.get_by_role("button", name="Add a user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("ann")
    dialog.get_by_role("button", name="Add user").click()
    expect(dialog.get_by_text("There is a user 'ann' already")).to_be_visible()
    looker.expected.append("400")
    dialog.get_by_label("Name").fill("zoe")
    dialog.get_by_role("button", name="Add user").click()
    expect(page.get_by_text("zoe is added")).to_be_visible()
    page.get_by_role("button", name="Login link for zoe").click()
    page.get_by_role("button", name="Make link").click()
    link = page.get_by_role("textbox", name="Link").input_value()
    assert link.startswith(f"{world.address}/login?code=")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name=re.compile("^(Copied|Press Ctrl C)$"))).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    with stranger(browser, world) as context:
        theirs = context.new_page()
        theirs.goto(link)
        theirs.get_by_role("button", name="Log in").click()
        h1(theirs, "Overview")
        page.get_by_role("combobox", name="Role of zoe").click()
        page.get_by_role("option", name="viewer").click()
        page.get_by_role("button", name="Make viewer").click()
        expect(page.get_by_text("zoe is viewer.")).to_be_visible()
        page.get_by_role("button", name="Disable zoe").click()
        expect(page.get_by_role("dialog").get_by_text("out at once")).to_be_visible()
        page.get_by_role("button", name="Disable user").click()
        expect(page.get_by_role("button", name="Enable zoe")).to_be_visible()
        expect(page.get_by_role("button", name="Login link for zoe")).to_have_attribute("aria-disabled", "true")
        theirs.goto("/jobs")
        theirs.wait_for_url(re.compile("/login"))
    page.get_by_role("button", name="Remove the password of ann").click()
    page.get_by_role("button", name="Leave it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_token_is_shown_once_and_revoked(looker: Looker, world: World) -> None:
    page = looker.page("eve", "/settings?tab=tokens")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_role("dialog").get_by_label("Name").fill(EVIL)
    page.get_by_role("button", name="Make token").click()
    token = page.get_by_role("textbox", name="Token").input_value()
    assert token.startswith("pst_")
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(EVIL)).to_be_visible()
    assert token not in page.content()
    page.get_by_role("button", name=f"Revoke {EVIL}").click()
    page.get_by_role("button", name="Revoke token").click()
    expect(page.locator("[data-state=REVOKED]")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    tokens = world.api("eve").get("/api/me/tokens").json()["items"]
    assert [one["revokedAt"] is None for one in tokens if one["name"] == EVIL] == [False]


def test_a_feature_that_is_off_leaves_the_navigation_and_its_address_says_so(looker: Looker) -> None:
    admin = looker.page("root", "/settings?tab=features")
    ann = looker.page("ann", "/jobs")
    expect(ann.get_by_role("link", name="Pending")).to_be_visible()
    switch = admin.get_by_role("switch", name="Pending")
    switch.click()
    expect(switch).not_to_be_checked()
    expect(admin.get_by_role("link", name="Pending")).to_have_count(0)
    ann.goto("/pending")
    expect(ann.get_by_text("Pending is switched off")).to_be_visible()
    expect(ann.get_by_role("link", name="Pending")).to_have_count(0)
    assert looker.axe(ann) == []
    switch.click()
    expect(switch).to_be_checked()
    ann.reload()
    expect(ann.get_by_role("link", name="Pending")).to_be_visible()


def test_failed_items_follow_ended_ones_and_the_question_says_so(looker: Looker) -> None:
    page = looker.page("root", "/settings?tab=retention")
    expect(page.get_by_role("region", name="Dead letters")).to_contain_text("Follows ended items: kept forever")
    ended = page.get_by_role("region", name="Ended items and jobs")
    ended.get_by_label("Ended items and jobs: days").fill("7")
    ended.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Failed items follow, unless they have a number of their own")
    expect(dialog).to_contain_text("so they are removed, too")
    assert looker.axe(page) == []


def test_a_shorter_retention_asks_first_and_is_taken_back(looker: Looker, world: World) -> None:
    page = looker.page("root", "/settings?tab=retention")
    days = page.get_by_label("Audit log: days")
    days.fill("0.5")
    expect(page.get_by_text("From 1 to 36500.")).to_be_visible()
    days.fill("400")
    page.get_by_role("region", name="Audit log").get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("cannot be taken back")
    dialog.get_by_role("button", name="Keep 400 days").click()
    expect(page.get_by_text("Changed by root")).to_be_visible()
    kept = {one["name"]: one["days"] for one in world.api("root").get("/api/settings").json()["retention"]}
    assert kept["auditDays"] == 400
    page.get_by_role("button", name="Back to forever").click()
    expect(page.get_by_text("Changed by root")).to_have_count(0)


def test_the_audit_log_is_read_filtered_and_opened(looker: Looker, world: World) -> None:
    world.sql(
        """insert into penstock.audit (actor, action, kind, object, owner, details)
           values ('bob', 'stage.pause', 'stage', 'fetch/fetch', null, jsonb_build_object('reason', $1::text)),
                  ('bob', 'job.cancel', 'job', '77', 'ann', '{}')""",
        EVIL,
    )
    page = looker.page("root", "/audit")
    first = page.get_by_role("listitem").filter(has_text="paused the stage fetch").first
    expect(first).to_contain_text(f"bob paused the stage fetch: {EVIL}")
    # Looks are many among few acts, so they are asked for.
    looks = page.get_by_role("listitem").filter(has_text="listened to everybody's changes")
    expect(looks).to_have_count(0)
    page.get_by_role("switch", name="Looks, too").click()
    expect(looks.first).to_be_visible()
    page.get_by_role("switch", name="Looks, too").click()
    expect(looks).to_have_count(0)
    page.get_by_label("Action", exact=True).first.fill("job.cancel")
    page.get_by_label("Action", exact=True).first.press("Enter")
    page.wait_for_url(re.compile("action=job.cancel"))
    expect(page.get_by_role("list", name="Entries").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("link", name="job 77")).to_have_attribute("href", "/jobs/77")
    page.get_by_role("button", name="Details: bob cancelled job 77").click()
    page.wait_for_url(re.compile("entry="))
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Belongs to")
    page.reload()
    expect(drawer).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    looker.go(page, "/audit?actor=nobody-at-all")
    expect(page.locator("[data-empty=filtered]")).to_be_visible()
    page.get_by_role("button", name="Show everything").click()
    expect(page.get_by_role("listitem").first).to_be_visible()
    assert page.locator("main img, main script, main a[href^=javascript]").count() == 0


def test_an_operator_reads_of_own_acts_and_of_own_objects_only(looker: Looker, world: World) -> None:
    world.sql(
        "insert into penstock.audit (actor, action, kind, object, owner) "
        "values ('bob', 'job.pause', 'job', '78', 'bob')"
    )
    page = looker.page("ann", "/audit")
    expect(page.get_by_role("listitem").filter(has_text="bob cancelled job 77").first).to_be_visible()
    assert page.get_by_text("job 78").count() == 0


SCREENS = [
    "/settings",
    "/settings?tab=tokens",
    "/settings?tab=users",
    "/settings?tab=retention",
    "/settings?tab=features",
    "/audit",
]


def test_every_screen_of_this_area_is_for_everybody(looker: Looker) -> None:
    page = looker.page("root", "/settings")
    for path in SCREENS:
        name = re.sub(r"\W+", "-", path)
        looker.go(page, path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        for look in looker.looks(page, stay=True):
            assert looker.axe(page) == [], (path, look)
            no_sideways_scroll(page)
            looker.shot(page, f"{name}-{look}")


def test_signing_out_ends_it(looker: Looker) -> None:
    page = looker.page("eve", "/jobs")
    page.get_by_role("button", name="Account of eve").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url(re.compile("/login$"))
    looker.expected.append("401")
    page.goto("/jobs")
    page.wait_for_url(re.compile(r"/login\?next=%2Fjobs"))
