"""Reports: the same content in every form, nothing of strangers' text alive in any of them."""

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from penstock.extensions.sites.report import exports
from penstock.extensions.sites.report.blocks import clean, safe_link
from penstock.extensions.sites.report.overview import MOST_DETAILED, MOST_ROWS, Overview, SiteLine
from penstock.extensions.sites.report.style import POLICY
from tests.extensions.sites_report_world import ATTACK, MODELS, URL, hostile, html, line_of, markdown, report, share

_ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "h1", "h2", "h3", "p", "a"),
    *("ul", "li", "dl", "dt", "dd", "div", "strong", "bdi", "svg", "rect", "figure", "figcaption", "blockquote"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "rel", "scope", "data-label"),
    *("aria-label", "role", "viewbox", "viewBox", "preserveaspectratio", "preserveAspectRatio"),
    *("x", "y", "width", "height"),
}


def overview(count: int, **other: Any) -> Overview:
    line = line_of(report(), state="completed", link="/api/analyses/12/report?siteId=345")
    sites = tuple(replace(line, site_id=number, **other) for number in range(1, count + 1))
    return Overview(job_id=12, name="Customers", made_at=report().analysed_at, total=count + 5, sites=sites)


def first(within: LexborHTMLParser | LexborNode, selector: str) -> LexborNode:
    found = within.css_first(selector)
    assert found is not None, selector
    return found


def text_of(page: str) -> str:
    body = LexborHTMLParser(page).body
    assert body is not None
    return " ".join(body.text(separator=" ").split())


# ---------------------------------------------------------------- the page


def test_the_page_says_everything_that_a_customer_asks() -> None:
    page = html(report())
    titles = [node.text() for node in LexborHTMLParser(page).css("h2")]
    assert titles == [
        "What happened",
        "Summary",
        "What the site says about itself",
        "Coverage by topic",
        "Answers by model",
        "Evidence",
        "Claims without support",
        "What to improve",
        "Method and limits",
    ]
    said = text_of(page)
    for sentence in (
        "Alderby Mill Bakery",
        "read 7 March 2026, 09:30 UTC",
        "6 of 10 questions (60 %). With so many tries, the true share lies between 40 % and 75 % nineteen times of",
        "7 of 48 answers (15 %)",
        "We bake it ourselves, batch 1.",
        "Alderby Mill Bakery opened in 1802.",
        "Say on a page what the evening course costs.",
        "The budget of 1 stopped 2 calls to heron-large.",
        "gull-small left 1 question without all its answers. The endpoint gave no answer for 60 s.",
        "cost 0.0123 in the currency",
    ):
        assert sentence in said


def test_the_matrix_has_a_cell_for_every_question_and_model_in_symbols_and_words() -> None:
    tree = LexborHTMLParser(html(report()))
    table = next(one for one in tree.css("table") if first(one, "caption").text() == "Every question on every model")
    assert [one.text() for one in table.css("thead th")] == ["Question", "The site itself", *MODELS]
    rows = table.css("tbody tr")
    assert len(rows) == 10
    assert all(len(row.css("td")) == 4 for row in rows)
    cells = " ".join(cell.text() for cell in table.css("td"))
    for words in (
        "● named (3 of 3)",
        "◐ sometimes named (1 of 3)",
        "○ not named (0 of 3)",
        "✕ no answer",
        "▪ answered",
    ):
        assert words in cells
    assert "Also named: Corvane Breads, Dunmoor Oven" in cells
    assert "The endpoint gave no answer for 60 s." in cells


def test_the_page_needs_nothing_but_itself_and_its_policy_says_so() -> None:
    tree = LexborHTMLParser(html(report()))
    assert tree.css("script, link, img, iframe, object, embed, form, input, base, [style]") == []
    policy = first(tree, "meta[http-equiv]").attributes["content"]
    sheet = first(tree, "style").text().encode()
    assert policy == POLICY
    assert base64.b64encode(hashlib.sha256(sheet).digest()).decode() in POLICY
    assert "unsafe" not in POLICY
    assert b"url(" not in sheet and b"@import" not in sheet
    assert first(tree, "html").attributes["lang"] == "en"
    assert first(tree, "bdi").attributes["lang"] == "en-GB"


def test_anchors_lead_somewhere_and_bars_are_read_aloud() -> None:
    tree = LexborHTMLParser(html(report()))
    ids = [node.attributes["id"] for node in tree.css("[id]")]
    assert len(set(ids)) == len(ids)
    wanted = [str(node.attributes["href"])[1:] for node in tree.css("nav a")]
    assert wanted and set(wanted) <= set(ids)
    for bar in tree.css("svg"):
        assert bar.attributes["role"] == "img" and bar.attributes["aria-label"]
    widths = [float(str(rect.attributes["width"])) for rect in tree.css("rect.value")]
    assert widths[0] == 60.0


# ---------------------------------------------------------------- strangers


def test_nothing_of_strangers_text_is_alive_in_the_page() -> None:
    page = html(hostile())
    tree = LexborHTMLParser(page)
    assert {node.tag for node in tree.css("*")} <= _ELEMENTS
    assert {name for node in tree.css("*") for name in node.attributes} <= _ATTRIBUTES
    hrefs = {str(node.attributes["href"]) for node in tree.css("a")}
    assert all(href.startswith(("#", "https://")) for href in hrefs)
    assert "<script>alert(1)</script>" in text_of(page)
    assert "\u202e" not in page and "\0" not in page
    assert all(node.attributes["lang"] in ("en", None) for node in tree.css("html, bdi[lang]"))


def test_nothing_of_strangers_text_is_alive_in_markdown() -> None:
    text = markdown(hostile())
    assert "<script" not in text and "<img" not in text
    assert re.findall(r"(?<!\\)\]\(", text) == []
    assert re.search(r"(?<!\\)`", text) is None
    tables_of = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables_of} <= {3, 4}


@pytest.mark.parametrize("text", ["# heading", "- item", "+ item", "1. first", "2) second", "=====", "> quote", "*x*"])
def test_strangers_begin_no_block_in_markdown(text: str) -> None:
    failed = report(facts=None, prompts=(), answers=(), scores=None, options={}, problems=(text,))
    (written,) = [one for one in markdown(failed).splitlines() if one.replace("\\", "") == f"- {text}"]
    assert written.startswith("- \\") or re.match(r"- \d\\", written)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>",
        "vbscript:x",
        "//evil.example/",
        "https://a.example/ onclick=x",
        'https://a.example/"x',
        "https://[broken/",
        "",
        None,
    ],
)
def test_only_addresses_of_the_web_are_linked(url: str | None) -> None:
    assert safe_link(url) is None


def test_a_link_of_the_web_is_linked_in_page_and_markdown() -> None:
    assert f'href="{URL}"' in html(report())
    assert f"]({URL})" in markdown(report())


def test_what_cannot_be_encoded_or_never_ends_is_cut() -> None:
    odd = report(problems=("half \ud800 character", "x" * 50_000))
    for written in (html(odd), markdown(odd), exports.csv(odd)):
        assert len(written.encode()) < 200_000
    assert clean("a\u2066b\x07c\nd", 10) == "abc d"


# ---------------------------------------------------------------- other forms


def test_markdown_has_the_same_sections_and_sentences() -> None:
    text = markdown(report())
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[1:4] == [
        "Summary",
        "What the site says about itself",
        "Coverage by topic",
    ]
    assert "6 of 10 questions (60 %)" in text
    assert "> We bake it ourselves, batch 1." in text


def test_json_is_versioned_in_camel_case_and_holds_all_of_it() -> None:
    told = json.loads(json.dumps(exports.json(report())))
    assert told["schema"] == "penstock.website-analysis.report/1"
    assert (told["jobId"], told["siteId"], told["analysedAt"]) == (12, 345, "2026-03-07T09:30:00Z")
    assert told["scores"]["byTopic"]["sourdough bread"]["count"] == 3
    assert len(told["scores"]["cells"]) == len(told["prompts"]) * len(MODELS) == len(told["answers"])
    assert told["facts"]["pages"][1] == {"url": f"{URL}shop", "status": 200, "title": "Shop", "words": 8}
    data = {"byKind", "byTopic", "byModel", "others"}
    assert [key for key in _keys(told, data) if "_" in key] == []


def _keys(value: object, data: set[str]) -> list[str]:
    if isinstance(value, list):
        return [key for one in value for key in _keys(one, data)]
    if not isinstance(value, dict):
        return []
    return [key for name, one in value.items() for key in (name, *([] if name in data else _keys(one, data)))]


def test_csv_holds_all_of_it_a_row_each() -> None:
    rows = list(csv.DictReader(io.StringIO(exports.csv(report()))))
    by_section: dict[str, int] = {}
    for row in rows:
        by_section[row["section"]] = by_section.get(row["section"], 0) + 1
    assert by_section["question"] == 10
    assert by_section["answer"] == 30
    assert (by_section["improvement"], by_section["claim"], by_section["problem"]) == (2, 1, 2)
    score = next(row for row in rows if row["item"] == "coverage")
    assert (score["value"], score["low"], score["high"], score["count"]) == ("0.6", "0.4", "0.75", "10")


def test_no_cell_of_the_csv_is_a_formula() -> None:
    bad = hostile()
    assert bad.facts is not None
    formula = replace(bad, facts=replace(bad.facts, name="=cmd|' /C calc'!A0", title="+1", places=("@sum", "\t-1")))
    table = exports.csv(formula) + exports.csv(overview(2, name="=1+1", problem="-2"))
    cells = [cell for row in csv.reader(io.StringIO(table)) for cell in row]
    assert "'=cmd|' /C calc'!A0" in cells and "'=1+1" in cells
    assert [cell for cell in cells if cell[:1] in set("=+@\t\r-＝")] == []


# ---------------------------------------------------------------- failed sites, many sites


def test_a_site_that_failed_has_a_report_that_says_why() -> None:
    failed = report(
        facts=None, prompts=(), answers=(), scores=None, options={}, problems=("example.com does not exist.",)
    )
    said = text_of(html(failed))
    assert "The site was not analysed. example.com does not exist." in said
    assert "Summary" not in said
    assert "example.com does not exist" in markdown(failed)
    assert exports.json(failed)["problems"] == ["example.com does not exist."]
    assert "problem,,,,,,,,,example.com does not exist.," in exports.csv(failed)


def test_the_report_of_a_site_that_was_never_read_claims_no_reading_and_speaks_to_the_customer() -> None:
    why = (
        "10.0.0.8 is not read: it is an address of a private network. Give the address of a public website. Or allow "
        "it: start the workers again with PENSTOCK_SITES_ALLOWED_HOSTS=10.0.0.8:80, and run the site again."
    )
    failed = report(facts=None, prompts=(), answers=(), scores=None, problems=(why,))
    for said in (text_of(html(failed)), markdown(failed).replace("\\", "")):
        before, _, operator = said.partition("For the operator: ")
        assert "not read · analysis" in before
        assert not any(word in before for word in (" · read ", "Asked:", "were read", "PENSTOCK_", "workers"))
        assert "Give the address of a public website." in before
        assert "No page of the site was read" in before
        assert "PENSTOCK_SITES_ALLOWED_HOSTS=10.0.0.8:80" in operator
    assert "tried at" in exports.csv(failed) and "analysed at" not in exports.csv(failed)


def test_a_problem_that_only_the_operator_can_mend_is_told_to_the_customer_without_its_settings() -> None:
    why = "The worker does not know the model 'gull'. Start the workers again with PENSTOCK_SITES_MODELS_FILE."
    half = report(answers=(), scores=None, problems=(why,))
    before, _, operator = text_of(html(half)).partition("For the operator: ")
    assert "for a reason on our side" in before and "PENSTOCK_" not in before and "Asked:" not in before
    assert why in operator
    line = SiteLine(site_id=1, url=URL, state="failed", problem=why)
    many = Overview(job_id=12, name=None, made_at=half.analysed_at, total=1, sites=(line,))
    before, _, operator = text_of(html(many)).partition("For the operator: ")
    assert "for a reason on our side" in before and why in operator


def test_a_site_that_was_read_but_not_asked_about_shows_its_facts_and_questions() -> None:
    half = report(answers=(), scores=None, options={}, problems=("Its prompts wait for approval.",))
    said = text_of(html(half))
    assert "did not end. Its prompts wait for approval." in said
    assert "Who offers sourdough bread?" in said
    assert "Coverage by topic" not in said


def test_visibility_is_not_made_up_where_only_the_offline_model_was_asked() -> None:
    usual = report().scores
    assert usual is not None
    cells = tuple(cell for cell in usual.cells if cell.model == "offline")
    alone = report(scores=replace(usual, visibility=share(0, 0), cells=cells, by_model={}))
    assert "Not measured: only the offline model was asked" in text_of(html(alone))


def test_many_sites_have_an_overview_whose_links_lead_to_their_part() -> None:
    tree = LexborHTMLParser(html(overview(3)))
    rows = tree.css("tbody tr")
    assert [str(first(row, "a").attributes["href"]) for row in rows] == ["#site-1", "#site-2", "#site-3"]
    ids = {node.attributes["id"] for node in tree.css("[id]")}
    assert {"site-1", "site-2", "site-3"} <= ids
    assert "5 more sites of this analysis are not shown" in text_of(html(overview(3)))
    assert {str(a.attributes["href"]) for a in tree.css("#each a")} == {URL, "/api/analyses/12/report?siteId=345"}


def test_an_overview_stays_a_page_that_opens() -> None:
    many = overview(MOST_ROWS + 500)
    tree = LexborHTMLParser(html(many))
    assert len(tree.css("tbody tr")) == MOST_ROWS
    assert len(tree.css("#each h3")) == MOST_DETAILED
    assert all(str(a.attributes["href"])[1:] for a in tree.css("tbody a"))
    assert len(tree.css("tbody a")) == MOST_DETAILED
    assert len(exports.json(many)["sites"]) == MOST_ROWS + 500


def test_an_overview_of_hostile_sites_is_harmless() -> None:
    line = SiteLine(
        site_id=1, url="javascript:alert(1)", state=ATTACK, name=ATTACK, problem=ATTACK, link="javascript:alert(2)"
    )
    bad = Overview(job_id=1, name=ATTACK, made_at=report().analysed_at, total=1, sites=(line,))
    tree = LexborHTMLParser(html(bad))
    assert {node.tag for node in tree.css("*")} <= _ELEMENTS
    assert all(str(node.attributes["href"]).startswith("#") for node in tree.css("a"))
    assert "<script" not in markdown(bad)
