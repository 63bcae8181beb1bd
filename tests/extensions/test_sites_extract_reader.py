"""Pages that attack the parser: the child may die, the reader goes on."""

import asyncio
import os
import signal

import pytest

from penstock.console.files.capped import Caps
from penstock.errors import TransientError
from penstock.extensions.sites.extract.charset import decoded
from penstock.extensions.sites.extract.page import LARGEST_BYTES, read
from penstock.extensions.sites.extract.site import Reader, understand
from penstock.extensions.sites.fetch.fetched import SiteProblem
from tests.extensions.sites_reading import crawled, page
from tests.work import calls_of

GOOD = page(f"<html lang=en><title>Tea</title><h1>Tea</h1><p>{'Tea is what we sell and what we drink. ' * 9}")

# Made only when a test asks: they are tens of megabytes, and every test process reads this file.
HOSTILE = {
    "nested divs": lambda: "<div>" * 900_000 + "tea",
    "nested tables": lambda: "<table><tr><td>" * 250_000 + "tea",
    "nested formatting": lambda: "".join(f"<b class=c{n}><p>" for n in range(200_000)) + "tea",
    "a million attributes": lambda: "<div " + " ".join(f"a{n}=1" for n in range(500_000)) + ">tea",
    "tags that never end": lambda: "<a " * 1_000_000,
    "comments that never end": lambda: "<!--" * 1_000_000,
    "scripts that never end": lambda: "<script>" * 400_000,
    "quotes that never end": lambda: "<a href='" * 400_000,
    "a million elements": lambda: "<i>t</i>" * 500_000,
    "numbers": lambda: "<p>" + "1 " * 2_000_000,
    "prices": lambda: "<p>" + "€" * 1_000_000 + "1,000" * 300_000,
    "mail": lambda: "<p>" + "a@" * 1_000_000 + "a." * 900_000,
    "rows with prices": lambda: "<table>" + "<tr><td>Tea<td>€1" * 100_000,
    "boxes in boxes with prices": lambda: ("<div>" * 200 + "€1" + "</div>" * 200) * 1500,
    "links": lambda: "<a href=/x>x</a> " * 200_000,
    "white space": lambda: "<p>" + " \n\t" * 1_200_000 + "tea",
    "a title without end": lambda: "<title>" + "tea " * 900_000,
    "headings": lambda: "<h2>tea</h2>" * 300_000,
    "json": lambda: "<script type='application/ld+json'>" + '{"a":' * 80_000 + "</script>",
    "json commas": lambda: "<script type='application/ld+json'>" + '", ' * 120_000 + "</script>",
    "entities": lambda: "<p>" + "&amp" * 1_000_000,
    "separators": lambda: "<title>" + " - " * 1_000_000 + "</title>",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_page_made_to_be_slow_is_read_in_bounded_time(kind: str) -> None:
    found = understand(crawled(page(HOSTILE[kind]()[:LARGEST_BYTES])))
    assert len(found.pages) == 1


async def test_the_reader_gives_the_facts_that_the_pure_function_gives() -> None:
    reader = Reader()
    try:
        site = crawled(GOOD, page("<title>Two</title><p>Second page", url="https://www.shop.example/two"))
        assert await reader.read(site) == understand(site)
    finally:
        await reader.close()


async def test_a_hundred_megabytes_of_nested_boxes_are_cut_and_said_so() -> None:
    reader = Reader()
    try:
        found = await reader.read(crawled(page(b"<p>Tea and coffee for everybody<div>" + b"<div>" * 20_000_000)))
        assert "Tea and coffee" in found.pages[0].text
        assert any(f"only the first {LARGEST_BYTES:,}" in note for note in found.notes)
    finally:
        await reader.close()


async def test_the_child_is_kept_between_sites() -> None:
    reader = Reader()
    try:
        await reader.read(crawled(GOOD))
        first = reader.pids
        await reader.read(crawled(GOOD))
        assert reader.pids == first and len(first) == 1
    finally:
        await reader.close()


async def test_a_start_page_over_the_caps_is_a_sentence_and_the_next_site_is_read() -> None:
    reader = Reader(caps=Caps(memory_mb=48, cpu_seconds=10, answer_seconds=30.0))
    try:
        await reader.read(crawled(GOOD))
        first = reader.pids
        with pytest.raises(
            SiteProblem, match=r"https://www\.shop\.example/ could not be analysed: the page needs more"
        ):
            await reader.read(crawled(page("<i>t</i>" * 500_000)))
        assert (await reader.read(crawled(GOOD))).title == "Tea"
        assert reader.pids != first
    finally:
        await reader.close()


async def test_a_start_page_that_takes_too_long_is_a_sentence() -> None:
    reader = Reader(caps=Caps(memory_mb=768, cpu_seconds=20, answer_seconds=0.05))
    try:
        with pytest.raises(SiteProblem, match=r"takes more than 0\.05 s to be read"):
            await reader.read(crawled(page("<i>t</i>" * 400_000)))
    finally:
        await reader.close()


async def test_a_further_page_over_the_caps_is_a_note() -> None:
    reader = Reader(caps=Caps(memory_mb=48, cpu_seconds=10, answer_seconds=30.0))
    try:
        bad = page("<i>t</i>" * 500_000, url="https://www.shop.example/bad")
        found = await reader.read(crawled(GOOD, bad))
        assert [one.url for one in found.pages] == ["https://www.shop.example/"]
        assert found.notes == ("https://www.shop.example/bad was left out: the page needs more than 48 MB to be read.",)
    finally:
        await reader.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_an_idle_child_that_somebody_killed_is_replaced_and_nobody_notices(how: signal.Signals) -> None:
    reader = Reader()
    try:
        await reader.read(crawled(GOOD))
        (pid,) = reader.pids
        os.kill(pid, how)
        await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert (await reader.read(crawled(GOOD))).title == "Tea"
        assert reader.pids != (pid,)
    finally:
        await reader.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_child_that_somebody_killed_while_it_read_is_no_fault_of_the_page(how: signal.Signals) -> None:
    reader = Reader()
    try:
        slow = asyncio.create_task(reader.read(crawled(page("<i>t</i>" * 400_000))))
        async with asyncio.timeout(60):
            while not reader._children._busy:
                await asyncio.sleep(0.005)
        (child,) = reader._children._busy
        os.kill(child.pid, how)
        with pytest.raises(TransientError, match="ended from outside"):
            await slow
        assert (await reader.read(crawled(GOOD))).title == "Tea"
    finally:
        await reader.close()


@pytest.mark.parametrize(
    "said", ["punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "hex"]
)
def test_a_codec_that_is_no_charset_of_the_web_counts_as_not_said(said: str) -> None:
    body = "<p>Größe und Maße der Möbel für das Büro, \\u0041 +AEE- xn--bcher-kva</p>".encode("cp1252")
    undeclared = decoded(body, "text/html")
    assert decoded(body, f"text/html; charset={said}") == undeclared
    assert "Größe" in undeclared.text
    assert decoded(b"<meta charset=" + said.encode() + b">" + body, "text/html").text.endswith(undeclared.text)


@pytest.mark.parametrize(
    ("said", "text"), [("windows-1251", "Чай и кофе"), ("Shift_JIS", "お茶とコーヒー"), ("windows-874", "ชาและกาแฟ")]
)
def test_a_charset_that_browsers_know_is_believed(said: str, text: str) -> None:
    python = {"windows-874": "cp874"}.get(said, said)
    assert decoded(f"<p>{text}</p>".encode(python), f"text/html; charset={said}").text == f"<p>{text}</p>"


async def test_a_closed_reader_ends_what_it_reads_as_worth_another_try() -> None:
    reader = Reader()
    slow = asyncio.create_task(reader.read(crawled(*[page("<i>t</i>" * 400_000)] * 50)))
    async with asyncio.timeout(60):
        while not reader._children._busy:
            await asyncio.sleep(0.01)
        await reader.close()
        with pytest.raises(TransientError, match="was closed"):
            await slow
    with pytest.raises(TransientError, match="was closed"):
        await reader.read(crawled(GOOD))


def test_a_page_four_times_as_large_is_about_four_times_the_work() -> None:
    card = b"<div class=card><h3>Tea</h3><p>A cup of tea for one.</p><span>&euro;3.50</span></div>"
    small, large = (calls_of(lambda n=n: read(page(GOOD.body + card * n))) for n in (200, 800))
    assert large < 5 * small
