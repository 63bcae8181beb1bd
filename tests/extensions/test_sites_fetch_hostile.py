"""Sites that mean harm, or are merely odd: one of them costs itself, never the runner and never the other sites."""

import gzip
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.extensions.sites.extract.site import understand
from penstock.extensions.sites.fetch import crawl as crawling
from penstock.extensions.sites.fetch import links, request
from penstock.extensions.sites.fetch.address import joined
from penstock.extensions.sites.fetch.crawl import Crawl, crawl
from penstock.extensions.sites.fetch.fetched import Fetched, Fetcher, KeptFetcher, SiteProblem
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from penstock.extensions.sites.fetch.robots import Robots, understood
from tests.extensions import site_answers as answers
from tests.extensions.site_answers import small_site, text_page
from tests.extensions.site_world import Place, SiteWorld
from tests.work import most_calls_at_once

Crawling = Callable[..., Any]
WORDS = "Bread and cakes, baked every morning in our shop."
# Opening a client costs about 100,000, choosing from the site below some millions.
MOST_CALLS_AT_ONCE = 400_000


@pytest.fixture
async def world() -> AsyncIterator[SiteWorld]:
    async with SiteWorld() as opened:
        yield opened


@pytest.fixture
async def walk(world: SiteWorld) -> AsyncIterator[Crawling]:
    """``await walk(place, path)``"""
    opened: list[Client] = []

    async def walked(place: Place, path: str = "/") -> Crawl:
        settings = load(sites_allowed_hosts=world.allowed(), sites_page_timeout_seconds=60.0)
        opened.append(Client(Penstock("test", settings=settings)))
        return await walked_with(LiveFetcher(None, opened[-1]), place.url(path))

    yield walked
    for client in opened:
        await client.close()


async def walked_with(fetcher: Fetcher, url: str) -> Crawl:
    return await crawl(url, pages=5, fetcher=fetcher, user_agent="PenstockBot/1.0", told=lambda *_: None)


def paths(found: Crawl, kind: str = "page") -> list[str]:
    return ["/" + one.final_url.split("/", 3)[3] for one in found.fetched if one.kind == kind]


# ---------------------------------------------------------------- robots.txt that costs


async def test_a_site_made_to_be_slow_to_choose_from_does_not_block_the_loop(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({})
    rules = "".join(f"Disallow: /x{number}*y\n" for number in range(24_000))
    urls = "".join(f"<url><loc>{place.url(f'/page/{number}')}</loc></url>" for number in range(5_000))
    place.pages |= {
        "/robots.txt": answers.page(f"User-agent: *\n{rules}", content_type="text/plain"),
        "/sitemap.xml": answers.page(f"<urlset>{urls}</urlset>", content_type="application/xml"),
        "/": text_page("Start", WORDS, links=tuple(f"/link/{number}" for number in range(2_000))),
        "/link/0": text_page("Link", WORDS, "A page that is linked."),
    }
    found, calls = await most_calls_at_once(walk(place))
    assert calls < MOST_CALLS_AT_ONCE
    assert paths(found) == ["/", "/link/0"]


@pytest.mark.parametrize("piece", ["<", "<loc>", f"<loc>{'a' * 1999}<", "<loc>" + " " * 3000])
async def test_a_sitemap_made_to_be_slow_does_not_block_the_loop(
    piece: str, world: SiteWorld, walk: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that grows with the square of the file would take hours, in whatever thread."""
    threads: set[int] = set()

    def noted(*given: Any) -> Any:
        threads.add(threading.get_ident())
        return named_by(*given)

    named_by = crawling._named_by
    monkeypatch.setattr(crawling, "_named_by", noted)
    body = gzip.compress((piece * (10_000_000 // len(piece))).encode())
    place = world.add({**small_site(), "/sitemap.xml": answers.Answer(body=body)})
    assert len(paths(await walk(place))) == 6
    assert threads and threading.get_ident() not in threads


def robots(text: str) -> Robots:
    address = "https://shop.example/robots.txt"
    fetched = Fetched(kind="robots", url=address, final_url=address, status=200, headers={}, body=text.encode())
    return understood(fetched, "PenstockBot/1.0")


def test_a_thousand_agents_with_a_thousand_rules_are_not_a_million_rules() -> None:
    agents = "".join(f"User-agent: somebody-{number}\n" for number in range(2_000))
    found = robots(f"{agents}User-agent: *\n" + "".join(f"Disallow: /{number}/\n" for number in range(2_000)))
    assert found.most_asked >= 2_000_000 // 2_010, "two thousand rules, whoever else they are for"
    assert not found.allows("https://shop.example/7/")
    assert found.allows("https://shop.example/about")


def test_rules_for_us_hold_behind_any_number_of_rules_for_everybody() -> None:
    many = "".join(f"Disallow: /{number}/\n" for number in range(20_000))
    found = robots(
        f"User-agent: *\n{many}\nSitemap: /map.xml\nUser-Agent: other\nuser-agent: penstockbot\nDisallow: /b"
    )
    assert not found.allows("https://shop.example/b")
    assert found.allows("https://shop.example/7/")
    assert found.sitemaps == ["/map.xml"]


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("User-agent: other\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", {"/b"}),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: other\nDisallow: /b", {"/a"}),
        ("User-agent: other\nUser-agent: *\nDisallow: /a # why\nDisallow: /b", {"/a", "/b"}),
        ("User-agent: *\nSitemap: /x.xml\nUser-agent: other\nDisallow: /a", {"/a"}),
        ("User-agent: penstock*\nDisallow: /a\nUser-agent: *\nDisallow: /b", {"/a"}),
        ("useragent penstockbot\ndisallow /a", {"/a"}),
    ],
)
def test_groups_of_rules_stay_what_they_are(text: str, forbidden: set[str]) -> None:
    found = robots(text)
    assert {path for path in ("/a", "/b") if not found.allows(f"https://shop.example{path}")} == forbidden


# ---------------------------------------------------------------- redirects


async def test_what_robots_forbids_is_not_asked_for_through_a_redirect_either(world: SiteWorld, walk: Crawling) -> None:
    elsewhere = world.add(
        {"/robots.txt": answers.page("User-agent: *\nDisallow: /"), "/landing": text_page("Other", WORDS)}
    )
    place = world.add(
        {
            "/robots.txt": answers.page("User-agent: *\nDisallow: /private"),
            "/": text_page("Start", WORDS, links=("/about About", "/services Services")),
            "/about": answers.redirect("/private/about"),
            "/private/about": text_page("Private", WORDS),
            "/services": answers.redirect(elsewhere.url("/landing")),
            "/moved": answers.redirect(elsewhere.url("/landing")),
            "/hidden": answers.redirect("/private/about"),
        }
    )
    found = await walk(place)
    assert [note.partition(" leads to ")[0] for note in found.notes] == [place.url("/about"), place.url("/services")]
    for path in ("/moved", "/hidden"):
        with pytest.raises(SiteProblem, match=r"robots\.txt does not allow"):
            await walk(place, path)
    assert "/private/about" not in world.targets(place)
    assert set(world.targets(elsewhere)) == {"/robots.txt"}


async def test_cookies_that_cannot_be_sent_are_left_out(world: SiteWorld, walk: Crawling) -> None:
    odd = 'odd="caf\u00e9"'.encode().decode("latin-1")

    def start(asked: Any) -> answers.Answer:
        if asked.headers.get("cookie") == "seen=yes":
            return text_page("Start", WORDS)
        return answers.redirect("/", 302, **{"Set-Cookie": f"seen=yes\r\nSet-Cookie: {odd}"})

    assert paths(await walk(world.add({"/": start}))) == ["/"]


async def test_a_fault_of_ours_in_one_page_is_a_sentence_about_it(
    world: SiteWorld, walk: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = request.ask

    async def faulty(http: Any, url: str, *rest: Any) -> Any:
        if url.endswith("/about"):
            raise UnicodeEncodeError("ascii", "é", 0, 1, "not in range")
        return await asking(http, url, *rest)

    monkeypatch.setattr("penstock.extensions.sites.fetch.live.ask", faulty)
    found = await walk(world.add(small_site()))
    assert "/about answers in a way that cannot be read (UnicodeEncodeError)." in found.notes[0]
    assert "/services" in paths(found)


# ---------------------------------------------------------------- characters


@pytest.mark.parametrize("number", ["9" * 5000, "0" * 5000 + "65"])
async def test_an_entity_of_any_length_is_a_broken_character(number: str, world: SiteWorld, walk: Crawling) -> None:
    start = answers.page(f'<html><p>{WORDS} &#{number};</p><a href="/x&#{number};">&#{number};</a><a href=/about>A</a>')
    place = world.add({**small_site(), "/": start})
    assert paths(await walk(place))[:2] == ["/", "/about"]
    assert links.letters(f"<p>{WORDS}&#{number};".encode()) >= 20


async def test_control_characters_in_a_sitemap_reach_nobody(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({})
    maps = "".join(f"<sitemap><loc>{place.url(path)}</loc></sitemap>" for path in ("/a\0b.xml", "/c.xml"))
    place.pages |= {
        **small_site(),
        "/sitemap.xml": answers.page(f"<sitemapindex>{maps}</sitemapindex>"),
        "/c.xml": answers.page(
            f"<urlset><loc>{place.url('/d')}\0</loc><loc>{place.url('/news/opening')}</loc></urlset>"
        ),
    }
    found = await walk(place)
    assert paths(found, "sitemap") == ["/sitemap.xml", "/c.xml"]
    assert found.notes == ()
    assert all(note.isprintable() for one in found.kept for note in (one.url, *one.headers.values()))
    assert joined("https://shop.example/", "/a\x00b") is None
    assert joined("https://shop.example/", " /a\n/b ") == "https://shop.example/a/b"


# ---------------------------------------------------------------- replay


@pytest.mark.parametrize("last", [answers.status(503), answers.status(429), answers.status(404)])
async def test_a_replay_goes_the_way_of_the_run_whatever_failed(
    last: answers.Answer, world: SiteWorld, walk: Crawling
) -> None:
    site = small_site()
    place = world.add(
        {
            **site,
            "/robots.txt": answers.redirect("/robots.txt"),
            "/sitemap.xml": answers.status(503),
            "/about": site["/"],
            "/services": answers.status(503),
            "/products/bread": last,
        }
    )
    live = await walk(place)
    assert len(live.notes) >= 4 and not any("/about" in note for note in live.notes)
    asked = len(world.asked)
    again = await walked_with(KeptFetcher(live.kept), place.url())
    assert again == live
    assert understand(again) == understand(live)
    assert len(world.asked) == asked
