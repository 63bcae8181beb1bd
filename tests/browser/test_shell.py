"""The frame around every screen."""

import pytest
from playwright.sync_api import expect

from tests.browser.looking import Looker

pytestmark = pytest.mark.timeout(180)


def test_somebody_signed_in_sees_where_they_are_and_that_it_is_live(looker: Looker) -> None:
    page = looker.page("ann")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(page.locator("[data-live=live]")).to_be_visible()
    assert looker.axe(page) == []


def test_the_palette_leads_to_any_screen_by_keyboard_alone(looker: Looker) -> None:
    page = looker.page("ann")
    page.keyboard.press("Control+k")
    page.get_by_placeholder("Go to").or_(page.get_by_role("combobox")).first.fill("schedul")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")


def test_an_address_that_leads_nowhere_says_so(looker: Looker) -> None:
    page = looker.page("ann", "/no/such/screen")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing here")
