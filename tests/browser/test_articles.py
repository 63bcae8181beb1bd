"""Articles as people meet them: written, saved at once, indexed, found by meaning, and the index that answers."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looking import Looker, in_reach
from tests.browser.world import World

pytestmark = pytest.mark.timeout(240)
# As long as the looker waits for anything else: embeddings take their time on a busy machine.

HOSTILE = '<img src=x onerror=alert(1)> "><script>alert(1)</script>'
RETURNS = """# Refunds

You get your **money** back within 14 days.

- keep the receipt
- [press me](javascript:alert(1))
- [our page](https://example.com/returns)
"""


def saved(world: World, title: str, content: str, name: str = "ann", **more: Any) -> str:
    answer = world.api(name).post("/api/articles", json={"title": title, "content": content, **more})
    assert answer.status_code == 201, answer.text
    slug: str = answer.json()["slug"]
    return slug


def embedding_paused(world: World, reason: str) -> None:
    answer = world.api("root").post("/api/stages/articles/articles/pause", json={"reason": reason})
    assert answer.status_code == 200, answer.text


def embedding_resumed(world: World) -> None:
    answer = world.api("root").post("/api/stages/articles/articles/resume")
    assert answer.status_code in (200, 409), answer.text


def indexed(page: Page) -> None:
    """The stream tells it: nothing is reloaded."""
    expect(page.locator("main [data-chip=indexed]").first).to_be_visible()


def fits(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return wide


def text_of(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text", exact=True)


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PENSTOCK_TEST_SHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_an_article_is_written_saved_indexed_and_found_by_its_meaning(looker: Looker, world: World) -> None:
    page = looker.page("ann", "/articles")
    expect(page.locator("[data-empty=nothing]")).to_contain_text("No articles yet")
    page.get_by_role("button", name="New article").click()
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_have_attribute("aria-disabled", "true")
    page.get_by_label("Title").fill("Returns")
    text_of(page).fill(RETURNS)
    preview = page.get_by_role("region", name="Preview")
    expect(preview.locator("strong")).to_have_text("money")
    expect(preview.get_by_role("listitem")).to_have_count(3)
    assert [one.get_attribute("href") for one in preview.get_by_role("link").all()] == ["https://example.com/returns"]

    page.get_by_role("link", name="Search", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("has not been saved")
    page.get_by_role("button", name="Leave it").click()

    embedding_paused(world, "provider down")
    page.get_by_label("What changed").fill("first version")
    save.click()
    page.wait_for_url("**/articles/returns")
    expect(page.locator("[data-chip=waiting]")).to_contain_text("Embedding is paused by root: provider down.")
    embedding_resumed(world)
    indexed(page)

    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("Search")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("how do I get my money back")
    hit = page.locator("[data-hit=returns]")
    expect(hit.locator("mark", has_text="money")).to_be_visible()
    expect(hit.locator("[data-passage]")).not_to_contain_text("**")
    expect(hit).to_contain_text("by meaning")
    expect(page.locator("[data-coverage]")).to_contain_text("1 of 1 article can be found by meaning")
    expect(page).to_have_url(re.compile(r"q=how"))
    page.keyboard.press("ArrowDown")
    expect(hit.get_by_role("link")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("searchbox").fill("xyzzyplugh")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("none means nearly the same")
    page.get_by_role("button", name="Search by meaning alone").click()
    expect(page).to_have_url(re.compile("mode=semantic"))
    page.get_by_role("searchbox").fill("how do I get my money back")
    expect(hit).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/articles/returns")


def test_what_two_tabs_wrote_is_shown_side_by_side_and_merged(looker: Looker, world: World) -> None:
    looker.expected.append("409")
    saved(world, "Opening hours", "Monday\nTuesday\nWednesday")
    first, second = (looker.page("ann", "/articles/opening-hours") for _ in range(2))
    text_of(first).fill("Monday\nTuesday, late\nWednesday")
    text_of(second).fill("Monday\nTuesday\nWednesday\nThursday")
    first.keyboard.press("Control+s")
    expect(first.get_by_text("Revision 2 is saved.")).to_be_visible()
    # The other tab hears of it, and keeps what was written there.
    expect(second.get_by_text("saved revision 2 meanwhile")).to_be_visible()
    second.get_by_role("button", name="Save", exact=True).click()
    conflict = second.get_by_role("alert")
    expect(conflict).to_contain_text("ann saved revision 2 while you were writing")
    expect(conflict.locator("[data-kind=new]")).to_contain_text(["Tuesday", "Thursday"])
    expect(conflict.locator("[data-kind=gone]")).to_contain_text("Tuesday, late")
    assert looker.axe(second) == []
    second.get_by_role("button", name="Merge by hand").click()
    expect(second.get_by_role("region", name="The newer revision")).to_contain_text("Tuesday, late")
    text_of(second).fill("Monday\nTuesday, late\nWednesday\nThursday")
    second.get_by_role("button", name="Save", exact=True).click()
    expect(second.get_by_text("Revision 3 is saved.")).to_be_visible()
    # Nobody writes in the first tab any more: it simply shows the new text.
    expect(text_of(first)).to_have_value("Monday\nTuesday, late\nWednesday\nThursday")

    second.get_by_role("tab", name="Revisions").click()
    second.get_by_role("link", name=re.compile("Revision 1")).click()
    expect(second).to_have_url(re.compile("revision=1"))
    second.get_by_text("What changed since").click()
    expect(second.locator("[data-kind=new]")).to_contain_text(["Tuesday, late", "Thursday"])
    second.get_by_role("button", name="Restore").click()
    second.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(second.get_by_role("link", name=re.compile(r"Revision 4 \(now\)"))).to_contain_text("Restored revision 1")
    assert world.api().get("/api/articles/opening-hours").json()["content"] == "Monday\nTuesday\nWednesday"

    second.get_by_role("button", name="Delete").click()
    expect(second.get_by_role("dialog")).to_contain_text("all 4 revisions")
    second.get_by_role("button", name="Delete article").click()
    second.wait_for_url("**/articles")
    looker.expected.append("404")  # the first tab still shows what is gone


def test_an_import_says_what_it_refused_and_new_rows_wait_behind_a_pill(looker: Looker, world: World) -> None:
    page = looker.page("bob", "/articles")
    page.get_by_role("button", name="Import").click()
    quoted = HOSTILE.replace('"', '""')
    table = f'title,content\nLamps,"Lamps give light."\n"{quoted}",Hostile words.\n,No title here\n'
    chooser = page.locator("input[type=file]")
    chooser.set_input_files({"name": "shop.csv", "mimeType": "text/csv", "buffer": table.encode()})
    page.get_by_role("dialog").get_by_role("button", name="Import", exact=True).click()
    done = page.locator("[data-imported]")
    expect(done).to_contain_text("2 new, 0 updated")
    expect(done).to_contain_text("1 refused")
    expect(page.get_by_role("table", name="What was refused").get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Done").click()
    grid = page.get_by_role("grid", name="Articles")
    expect(grid.locator("[data-row=lamps] [data-chip=indexed]")).to_be_visible()
    expect(grid).to_contain_text(HOSTILE)

    saved(world, "Chairs", "Chairs are sat on.", "ann", visibility="shared")
    pill = page.get_by_role("button", name="1 new")
    expect(pill).to_be_visible()
    expect(grid.locator("[data-row=chairs]")).to_have_count(0)
    pill.click()
    expect(grid.locator("[data-row=chairs] [data-chip=indexed]")).to_be_visible()
    page.get_by_label("Author").fill("nobody")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("No articles of nobody")
    expect(page).to_have_url(re.compile("author=nobody"))


def test_searches_say_why_there_is_nothing_and_what_was_found_by_words_alone(looker: Looker, world: World) -> None:
    saved(world, "Zeppelin manual", "The zeppelin needs helium.", skipEmbedding=True)
    page = looker.page("ann", "/search?q=zeppelin")
    hit = page.locator("[data-hit=zeppelin-manual]")
    expect(hit).to_contain_text("Found by its words, not embedded yet")
    page.get_by_label("Changed from").fill("2040-01-01")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("Nothing within these filters")
    page.get_by_role("button", name="Search without them").click()
    expect(hit).to_be_visible()
    page.get_by_text("Words", exact=True).first.click()
    expect(page).to_have_url(re.compile("mode=keyword"))
    page.get_by_role("searchbox").fill("xyzzyplugh")
    expect(page.locator("[data-empty=filtered]")).to_contain_text("No results")
    page.go_back()
    for number in range(12):
        saved(world, f"Zeppelin part {number}", "Another part of the zeppelin.", skipEmbedding=True)
    page.goto("/search?q=zeppelin&mode=keyword")
    expect(page.locator("[data-hit]")).to_have_count(10)
    page.get_by_role("button", name="More results").click()
    expect(page.locator("[data-hit]")).to_have_count(13)


def test_an_admin_reindexes_with_progress_and_switches_generations(looker: Looker, world: World) -> None:
    saved(world, "Warranty", "A broken lamp is repaired free of charge within two years.", "root", visibility="shared")
    page = looker.page("root", "/search?q=who repairs a broken lamp")
    expect(page.locator("[data-hit=warranty]")).to_be_visible()
    page.get_by_role("button", name="Save for comparisons").click()
    page.get_by_role("checkbox", name="Warranty").check()
    page.get_by_role("button", name="Save query").click()
    expect(page.get_by_text("Generations are compared on it from now on.")).to_be_visible()

    looker.go(page, "/index")
    embedding_paused(world, "to be seen")
    page.get_by_role("button", name="Re-index").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("All articles").check()
    dialog.get_by_label("Embed also what has not changed").check()
    start = dialog.get_by_role("button", name=re.compile(r"Re-index \d+ articles"))
    expect(start).to_be_enabled()
    count = int(re.findall(r"\d+", start.inner_text())[0])
    assert count == world.sql("select count(*) as n from article_search.articles")[0]["n"]
    start.click()
    filling = page.get_by_role("region", name="At work on the index")
    expect(filling).to_contain_text(f"{count} left")
    expect(page.get_by_role("region", name="Worker")).to_contain_text("to be seen")
    filling.get_by_role("button", name="Pause").click()
    expect(filling).to_contain_text("paused by root")
    filling.get_by_role("button", name="Resume").click()
    expect(filling).to_contain_text("New saves go first")
    embedding_resumed(world)
    expect(filling).to_have_count(0)
    expect(page.locator("[data-figure=indexed]")).to_contain_text(f"{count} of {count} articles")

    page.get_by_role("button", name="New generation").click()
    page.get_by_label("Name").fill("short passages")
    page.get_by_label("Characters of a passage").fill("200")
    page.get_by_label("Overlap").fill("20")
    page.get_by_role("button", name="Build generation").click()
    row = page.locator("[data-generation='short passages']")
    expect(row).to_contain_text("Ready", timeout=60_000)
    row.get_by_role("button", name="Compare").click()
    compared = page.get_by_role("table", name="Comparison on saved queries")
    expect(compared.get_by_role("row").nth(1)).to_contain_text("1 of 1")
    expect(page).to_have_url(re.compile("compare="))
    assert looker.axe(page) == []
    row.get_by_role("button", name="Switch").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"it stands for {count} of {count} articles")
    page.get_by_role("dialog").get_by_role("button", name="Switch").click()
    expect(row).to_contain_text("Active")
    expect(page.locator("[data-generation=first]")).to_contain_text("Standby")
    row.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator("[data-generation=first]")).to_contain_text("Active")
    row.get_by_role("button", name="Drop").click()
    expect(page.get_by_role("dialog")).to_contain_text(re.compile(rf"\d+ vectors of {count} articles go"))
    page.get_by_role("button", name="Drop generation").click()
    expect(row).to_have_count(0)
    expect(page.get_by_text("Dropped: short passages")).to_be_visible()

    page.get_by_role("tab", name="Tasks").click()
    page.get_by_label("Everybody's").check()
    expect(page.get_by_role("grid", name="Embedding tasks").get_by_role("row").nth(1)).to_contain_text("Completed")
    page.get_by_role("button", name="Tasks").click()
    page.get_by_role("menuitem", name="Clear completed").click()
    page.get_by_label("Older than, in days").fill("0")
    page.get_by_role("button", name="Clear them").click()
    expect(page.get_by_text("cleared.")).to_be_visible()


def test_a_viewer_reads_what_is_shared_and_sees_why_the_rest_cannot_be_pressed(looker: Looker, world: World) -> None:
    content = f"{HOSTILE}\n\n[x](javascript:alert(1)) [y](data:text/html,z) **{HOSTILE}**\n\n`{HOSTILE}`\n\n> {HOSTILE}"
    slug = saved(world, HOSTILE, content, visibility="shared", message=HOSTILE)
    world.api().post("/api/article-index/queries", json={"query": HOSTILE, "expected": [slug]})
    page = looker.page("eve", f"/articles/{slug}")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.get_by_text("This needs the role operator; yours is viewer.")).to_be_visible()
    delete = page.get_by_role("button", name="Delete")
    expect(delete).to_have_attribute("aria-disabled", "true")
    delete.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    for path in (f"/articles/{slug}", f"/articles/{slug}?tab=revisions", "/articles", "/search?q=onerror"):
        looker.go(page, path)
        expect(page.get_by_text("onerror=alert").first).to_be_visible()
        assert page.locator("main img[src=x], main script").count() == 0
        bad = page.locator("main a").evaluate_all("all => all.filter(a => !/^https?:/.test(a.href)).length")
        assert bad == 0
    looker.go(page, "/index")
    for name in ("Re-index", "New generation", "Tasks"):
        button = page.get_by_role("button", name=name)
        expect(button).to_have_attribute("aria-disabled", "true")
        button.hover()
        expect(
            page.get_by_role("tooltip").filter(has_text="This needs the role admin; yours is viewer.")
        ).to_be_visible()
    queries = looker.page("ann", "/index?tab=queries")
    expect(queries.get_by_text("onerror=alert").first).to_be_visible()
    assert queries.locator("main img[src=x], main script").count() == 0


def test_every_screen_of_articles_is_for_everybody(looker: Looker, world: World) -> None:
    slug = saved(world, "Looked at", RETURNS, "root")
    world.api("root").put(f"/api/articles/{slug}", json={"content": RETURNS + "\nOne line more.", "message": "more"})
    world.api("root").post("/api/article-index/queries", json={"query": "money", "expected": [slug]})
    page = looker.page("root", f"/articles/{slug}")
    indexed(page)
    screens = {
        f"/articles/{slug}": text_of(page),
        f"/articles/{slug}?tab=revisions": page.locator("[data-kind=new]").first,
        f"/articles/{slug}?tab=similar": page.locator("[data-coverage]"),
        "/articles?everybody=true": page.get_by_role("grid"),
        "/articles?add=true": page.get_by_role("dialog"),
        "/articles/new": text_of(page),
        "/search?q=money": page.locator("mark").first,
        "/index": page.locator("[data-generation=first]"),
        "/index?tab=tasks&everybody=true": page.get_by_role("grid"),
        "/index?tab=queries": page.get_by_role("table"),
        "/index?open=reindex": page.locator("[data-dry-run=true]"),
        "/index?open=build": page.get_by_role("dialog").get_by_label("Name"),
    }
    for number, (path, there) in enumerate(screens.items()):
        looker.go(page, path)
        expect(there).to_be_visible()
        for look in looker.looks(page, stay=True):
            picture(page, f"articles-{look}-{number}")
            assert fits(page), (path, look)
            assert looker.axe(page) == [], (path, look)
            if path == "/index":
                in_reach(page.locator("[data-generation=first]").get_by_role("button", name="Roll back"))
