"""Fetching from servers on loopback that answer in every way servers do. No database: nothing is paced here."""

import asyncio
import gzip
import resource
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import HandlerError, ThrottledError
from penstock.extensions.sites.fetch.fetched import SiteBusy, SiteProblem
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from tests.extensions import site_answers as answers
from tests.extensions.site_getting import TEXT, Getting, getting
from tests.extensions.site_world import SiteWorld


@pytest.fixture
async def world() -> AsyncIterator[SiteWorld]:
    async with SiteWorld() as opened:
        yield opened


@pytest.fixture
async def get(world: SiteWorld) -> AsyncIterator[Getting]:
    async with getting(world) as got:
        yield got


async def test_a_page_is_fetched_with_its_headers_and_bytes(world: SiteWorld, get: Getting) -> None:
    body = "<html><p>Größe</p></html>".encode("latin-1")
    place = world.add({"/a": answers.page(body, content_type="text/html; charset=ISO-8859-1", Set_Cookie="a=b")})
    fetched = await get(place, "/a", sites_user_agent="TestBot/2.0")
    assert (fetched.kind, fetched.url, fetched.final_url, fetched.status) == (
        "page",
        place.url("/a"),
        place.url("/a"),
        200,
    )
    assert fetched.body == body
    assert fetched.headers["content-type"] == "text/html; charset=ISO-8859-1"
    assert "set-cookie" not in fetched.headers
    [asked] = world.asked
    assert asked.headers["user-agent"] == "TestBot/2.0"
    assert asked.headers["host"] == place.allowed


# ---------------------------------------------------------------- answers that are no page


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        (401, SiteProblem, "wants a login"),
        (403, SiteProblem, "refuses to be read"),
        (404, SiteProblem, "There is no page at"),
        (410, SiteProblem, "taken away for good"),
        (418, SiteProblem, "refused the request"),
        (304, SiteProblem, "does not say where"),
        (500, SiteBusy, "answered 500"),
        (503, SiteBusy, "answered 503"),
        (429, ThrottledError, "asks to slow down"),
    ],
)
async def test_every_refusal_has_its_sentence(
    code: int, kind: type[Exception], sentence: str, world: SiteWorld, get: Getting
) -> None:
    place = world.add({"/": answers.status(code)})
    with pytest.raises(HandlerError, match=sentence) as refused:
        await get(place)
    assert type(refused.value) is kind


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (answers.pdf(), "is a PDF, not a web page"),
        (answers.page(b"%PDF-1.4 x", content_type="text/html"), "is a PDF"),
        (answers.page(b'{"a": 1}', content_type="application/json"), "type 'application/json'"),
        (answers.page(b"\x89PNG\r\n", content_type="image/png"), "is an image"),
        (answers.page(b"just words", content_type=None), "does not look like HTML"),
        (answers.page(b"\x00\x01\x02\x03binary", content_type="text/html"), "does not look like HTML"),
        (answers.page(b" \r\n\t "), "is empty"),
        (answers.page(b""), "is empty"),
        (answers.Answer(status=204, length="none"), "is empty"),
        (answers.page(b"\x0b\x02\x80br", Content_Encoding="br"), "packed as 'br'"),
        (answers.page(b"\x1f\x8b\x08\x00broken gzip stream", Content_Encoding="gzip"), "cannot be read"),
        (answers.huge_header(), "headers that are too large"),
    ],
)
async def test_what_is_no_page_is_said_in_a_sentence(
    answer: answers.Answer, sentence: str, world: SiteWorld, get: Getting
) -> None:
    place = world.add({"/": answer})
    with pytest.raises(SiteProblem, match=sentence):
        await get(place)


@pytest.mark.parametrize(
    "answer",
    [
        answers.page(TEXT, content_type=None),
        answers.page(TEXT, content_type="text/plain"),
        answers.page(TEXT, content_type="application/pdf"),
        answers.page('<?xml version="1.0"?><html><p>words</p></html>', content_type="application/xml"),
        answers.page("only a fragment of <p>words</p>", content_type="TEXT/HTML ; charset=x"),
        answers.page(TEXT.encode("utf-16"), content_type="text/html"),
        answers.page(TEXT.encode("koi8-r"), content_type="text/html; charset=no-such-charset"),
        answers.packed(TEXT, "gzip", "gzip"),
        answers.packed(TEXT, "deflate", "deflate"),
        answers.packed(TEXT, "deflate", "raw-deflate"),
        answers.packed(TEXT, "gzip", "plain"),
        answers.packed(TEXT, "deflate", "plain"),
        answers.packed(TEXT, "br", "plain"),
        answers.Answer(body=TEXT.encode(), length="none"),
    ],
)
async def test_what_is_a_page_is_read_whatever_its_headers_say(
    answer: answers.Answer, world: SiteWorld, get: Getting
) -> None:
    fetched = await get(world.add({"/": answer}))
    assert b"words" in fetched.body.replace(b"\0", b"") or b"Bread" in fetched.body.replace(b"\0", b"")


async def test_a_page_packed_twice_is_unpacked_twice(world: SiteWorld, get: Getting) -> None:
    inner = answers.packed(TEXT, "gzip", "gzip")
    outer = answers.Answer(body=gzip.compress(inner.body), headers={"Content-Encoding": "gzip, gzip"})
    assert (await get(world.add({"/": outer}))).body == TEXT.encode()


# ---------------------------------------------------------------- redirects


async def test_redirects_are_followed_to_the_final_address(world: SiteWorld, get: Getting) -> None:
    other = world.add({"/end": TEXT})
    place = world.add({"/": answers.redirect("/a#x", 301), "/a": answers.redirect(other.url("/end"), 308)})
    fetched = await get(place)
    assert (fetched.url, fetched.final_url) == (place.url("/"), other.url("/end"))


async def test_endless_redirects_and_circles_end_with_a_sentence(world: SiteWorld, get: Getting) -> None:
    place = world.add(
        {"/a": answers.redirect("/b"), "/b": answers.redirect("/a"), "*": answers.endless_redirect, "/c": TEXT}
    )
    with pytest.raises(SiteProblem, match="in a circle"):
        await get(place, "/a")
    before = len(world.asked)
    with pytest.raises(SiteProblem, match="more than 3 times"):
        await get(place, "/hop/1", sites_max_redirects=3)
    assert len(world.asked) - before == 4


async def test_a_site_that_wants_its_cookie_back_gets_it_and_no_other_site_does(world: SiteWorld, get: Getting) -> None:
    other = world.add({"/": TEXT})
    place = world.add({"/": answers.wants_cookie(answers.redirect(other.url("/")))})
    assert (await get(place)).final_url == other.url("/")
    assert "cookie" not in world.asked[-1].headers


# ---------------------------------------------------------------- size and time


@pytest.mark.parametrize(
    "answer",
    [answers.two_gigabytes(), answers.two_gigabytes(said=False), answers.gzip_bomb()],
    ids=["said", "unsaid", "bomb"],
)
async def test_a_body_without_end_is_left_at_the_cap(answer: answers.Answer, world: SiteWorld, get: Getting) -> None:
    place = world.add({"/": answer})
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SiteProblem, match="larger than 1,000,000 bytes"):
        await get(place, sites_max_page_bytes=1_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50 * 1024


async def test_a_page_exactly_as_large_as_the_cap_is_read(world: SiteWorld, get: Getting) -> None:
    body = TEXT + "x" * (10_000 - len(TEXT))
    place = world.add({"/": answers.packed(body, "gzip", "gzip"), "/more": answers.packed(body + "x", "gzip", "gzip")})
    assert len((await get(place, sites_max_page_bytes=10_000)).body) == 10_000
    with pytest.raises(SiteProblem, match="larger than"):
        await get(place, "/more", sites_max_page_bytes=10_000)


@pytest.mark.parametrize("answer", ["hanging", "trickle"])
async def test_silence_and_trickling_end_at_the_time_of_a_page(answer: str, world: SiteWorld, get: Getting) -> None:
    place = world.add({"/": getattr(answers, answer)()})
    with pytest.raises(SiteBusy, match=r"longer than 0\.4 s|in time"):
        await get(place, sites_page_timeout_seconds=0.4)


async def test_the_time_of_a_page_counts_over_all_its_redirects(world: SiteWorld, get: Getting) -> None:
    async def slow(asked: Any) -> answers.Answer:
        await asyncio.sleep(0.3)
        return answers.endless_redirect(asked)

    place = world.add({"*": slow})
    with pytest.raises(SiteBusy, match="longer than"):
        await get(place, "/hop/1", sites_page_timeout_seconds=0.8, sites_max_redirects=20)
    assert len(world.asked) <= 4


async def test_an_answer_that_breaks_off_is_worth_another_try(world: SiteWorld, get: Getting) -> None:
    page = answers.page(TEXT)
    page.length = len(TEXT) + 1000
    with pytest.raises(SiteBusy, match="broke off"):
        await get(world.add({"/": page}))


async def test_a_length_that_is_too_small_cuts_the_page_and_nothing_more(world: SiteWorld, get: Getting) -> None:
    page = answers.page(TEXT)
    page.length = 30
    assert (await get(world.add({"/": page}))).body == TEXT.encode()[:30]


async def test_a_closed_port_is_worth_another_try(world: SiteWorld, get: Getting) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(SiteBusy, match="takes no connection"):
            await get(f"http://127.0.0.1:{port}/", sites_allowed_hosts=("127.0.0.1",))


async def test_a_certificate_nobody_signed_is_a_problem_of_the_site(get: Getting) -> None:
    async with SiteWorld(tls=True) as secure:
        place = secure.add({"/": TEXT})
        with pytest.raises(SiteProblem, match="certificate that cannot be trusted"):
            await get(place, sites_allowed_hosts=secure.allowed())
        assert secure.asked == []


async def test_https_spoken_to_a_plain_server_is_a_problem(world: SiteWorld, get: Getting) -> None:
    place = world.add({"/": TEXT})
    with pytest.raises(SiteProblem, match="No secure connection"):
        await get(place.url("/").replace("http://", "https://"))


async def test_a_missing_robots_file_or_sitemap_is_an_answer(world: SiteWorld, get: Getting) -> None:
    place = world.add({"/busy": answers.status(500)})
    assert (await get(place, "/robots.txt", kind="robots")).status == 404
    assert (await get(place, "/sitemap.xml", kind="sitemap")).status == 404
    with pytest.raises(SiteBusy):
        await get(place, "/busy", kind="robots")


async def test_a_robots_file_without_end_is_read_at_its_beginning(world: SiteWorld, get: Getting) -> None:
    place = world.add({"/robots.txt": answers.two_gigabytes()})
    assert len((await get(place, "/robots.txt", kind="robots")).body) == 512 * 1024


async def test_no_cookie_outlives_its_page(world: SiteWorld) -> None:
    place = world.add({"/": answers.page(TEXT, Set_Cookie="who=me; Path=/")})
    client = Client(Penstock("test", settings=load(sites_allowed_hosts=world.allowed())))
    for _ in range(2):
        await LiveFetcher(None, client).get(place.url(), kind="page")
    await client.close()
    assert ["cookie" in asked.headers for asked in world.asked] == [False, False]
