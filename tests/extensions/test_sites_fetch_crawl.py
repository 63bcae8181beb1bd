"""The small crawl: which pages are read, in which order, and what becomes of those that cannot be."""

import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.extensions.sites.fetch.crawl import Crawl, crawl
from penstock.extensions.sites.fetch.fetched import KeptFetcher, SiteBusy, SiteProblem
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from tests.extensions import site_answers as answers
from tests.extensions.site_answers import small_site, text_page
from tests.extensions.site_world import Place, SiteWorld

Crawling = Callable[..., Any]
WORDS = "Bread and cakes, baked every morning in our shop."


def quiet(_done: int, _total: int, _note: str) -> None:
    """For those who do not look at the progress."""


@pytest.fixture
async def world() -> AsyncIterator[SiteWorld]:
    async with SiteWorld() as opened:
        yield opened


@pytest.fixture
async def walk(world: SiteWorld) -> AsyncIterator[Crawling]:
    """``await walk(place, pages=5, **settings)``"""
    opened: list[Client] = []

    async def walked(place: Place, path: str = "/", *, pages: int = 5, told: Any = quiet, **settings: Any) -> Crawl:
        given = {"sites_allowed_hosts": world.allowed(), "sites_page_timeout_seconds": 5.0} | settings
        client = Client(Penstock("test", settings=load(**given)))
        opened.append(client)
        fetcher = LiveFetcher(None, client)
        return await crawl(place.url(path), pages=pages, fetcher=fetcher, user_agent="PenstockBot/1.0", told=told)

    yield walked
    for client in opened:
        await client.close()


def paths(found: Crawl, kind: str = "page") -> list[str]:
    return ["/" + one.final_url.split("/", 3)[3] for one in found.fetched if one.kind == kind]


async def test_a_small_site_is_read_best_pages_first(world: SiteWorld, walk: Crawling) -> None:
    place = world.add(small_site())
    said: list[tuple[int, int, str]] = []
    found = await walk(place, told=lambda done, total, note: said.append((done, total, note)))
    assert [one.kind for one in found.fetched[:3]] == ["robots", "page", "sitemap"]
    assert paths(found) == ["/", "/about", "/services", "/products/bread", "/pricing", "/contact"]
    assert found.start.url == place.url("/") and found.notes == ()
    assert said[-1][:2] == (6, 6) and [done for done, _, _ in said] == sorted(done for done, _, _ in said)
    assert paths(await walk(place, pages=2)) == ["/", "/about", "/services"]
    assert world.targets(place).count("/news/opening") == 0


async def test_without_further_pages_only_robots_and_the_start_page_are_asked_for(
    world: SiteWorld, walk: Crawling
) -> None:
    place = world.add(small_site())
    await walk(place, pages=0)
    assert world.targets(place) == ["/robots.txt", "/"]


async def test_what_robots_forbids_is_not_asked_for(world: SiteWorld, walk: Crawling) -> None:
    place = world.add(
        {
            "/robots.txt": answers.page(
                "User-agent: *\nDisallow: /\n\nUser-agent: penstockbot\nDisallow: /services\nDisallow: /start\n"
            ),
            "/": text_page("Shop", WORDS, links=("/services Services", "/about About")),
            "/about": text_page("About", WORDS, "About us."),
            "/moved": answers.redirect("/start"),
            "/start": text_page("Start", WORDS),
        }
    )
    assert paths(await walk(place)) == ["/", "/about"]
    for path in ("/start", "/moved"):
        assert not {"/services", "/start"} & set(world.targets(place))
        with pytest.raises(SiteProblem, match=r"robots\.txt does not allow PenstockBot/1\.0 to read .*/start"):
            await walk(place, path)


async def test_a_robots_file_that_cannot_be_had_just_now_means_later(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({**small_site(), "/robots.txt": answers.status(503)})
    with pytest.raises(SiteBusy, match=r"Without its robots\.txt"):
        await walk(place)
    assert world.targets(place) == ["/robots.txt"]


async def test_a_robots_file_that_leads_in_a_circle_is_a_missing_one(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({**small_site(), "/robots.txt": answers.redirect("/robots.txt")})
    found = await walk(place, pages=1)
    assert paths(found) == ["/", "/about"]
    [note] = found.notes
    assert "taken as missing" in note


async def test_the_host_a_site_moved_to_is_asked_for_its_own_robots(world: SiteWorld, walk: Crawling) -> None:
    moved = world.add({**small_site(), "/robots.txt": answers.page("User-agent: *\nDisallow: /about\n")})
    place = world.add({"/": answers.redirect(moved.url("/"))})
    found = await walk(place, pages=2)
    assert found.start.final_url == moved.url("/")
    assert paths(found) == ["/", "/services", "/products/bread"]


async def test_a_further_page_that_fails_is_a_note_and_the_next_one_is_read(world: SiteWorld, walk: Crawling) -> None:
    place = world.add(
        {
            **small_site(),
            "/about": answers.status(404),
            "/services": answers.pdf(),
            "/products/bread": answers.two_gigabytes(),
            "/pricing": answers.javascript_only(),
        }
    )
    found = await walk(place, pages=3)
    assert paths(found) == ["/", "/pricing", "/contact", "/news/opening"]
    assert ["404" in found.notes[0], "PDF" in found.notes[1], "larger" in found.notes[2]] == [True] * 3


async def test_a_site_that_falls_silent_is_left_in_peace_and_read_so_far(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({**small_site(), "/services": answers.hanging(), "/products/bread": answers.status(503)})
    found = await walk(place, sites_page_timeout_seconds=2.0)
    assert paths(found) == ["/", "/about"]
    assert len(found.notes) == 2
    throttling = world.add({**small_site(), "/services": answers.status(429, Retry_After="60")})
    found = await walk(throttling)
    assert paths(found) == ["/", "/about"]
    assert "all after it" in found.notes[0]


async def test_the_start_page_decides(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({**small_site(), "/": answers.two_gigabytes()})
    with pytest.raises(SiteProblem, match="larger than"):
        await walk(place)


# ---------------------------------------------------------------- pages without text


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (answers.javascript_only(), "only with JavaScript"),
        (answers.page("<html><body><div></div></body></html>"), "holds no text"),
        (answers.page("<html><!-- only a comment with many many words --></html>"), "holds no text"),
    ],
)
async def test_a_site_without_text_ends_with_a_sentence(
    answer: answers.Answer, sentence: str, world: SiteWorld, walk: Crawling
) -> None:
    with pytest.raises(SiteProblem, match=sentence):
        await walk(world.add({"/": answer}))


async def test_a_start_page_of_javascript_is_a_note_where_other_pages_have_text(
    world: SiteWorld, walk: Crawling
) -> None:
    place = world.add({**small_site(), "/": answers.javascript_only()})
    found = await walk(place)
    assert paths(found) == ["/", "/about", "/news/opening"]
    assert "JavaScript" in found.notes[-1]


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "shift_jis", "iso2022_jp", "gb18030", "utf-7"])
async def test_text_in_any_charset_is_text(charset: str, world: SiteWorld, walk: Crawling) -> None:
    body = f"<html><body><p>{'毎朝焼きたてのパンとケーキをお届けします。' * 2}</p></body></html>"
    found = await walk(world.add({"/": answers.page(body.encode(charset), content_type="text/html")}))
    assert found.start.body == body.encode(charset)


# ---------------------------------------------------------------- candidates


async def test_mazes_doors_and_files_are_not_walked_into(world: SiteWorld, walk: Crawling) -> None:
    links = (
        "/logout", "/cart", "/my-account/orders", "/wp-login.php", "/files/list.pdf", "/photo.JPG", "/list?sort=a",
        "/list?page_id=1&session=9", "/a/a/a/a", "/1/2/3/4/5/6/7", "mailto:a@b.example", "https://other.example/about",
        "/feed", "/search/", "javascript:void(0)", "/plain?page_id=7", "/deep/er/page", "/plain", "/", "#top",
    )  # fmt: skip
    place = world.add(
        {
            "/": text_page("Start", WORDS, links=links),
            "/plain": text_page("Plain", WORDS),
            "/plain?page_id=7": text_page("Seven", WORDS, "Seven."),
            "/deep/er/page": text_page("Deep", WORDS),
        }
    )
    found = await walk(place, pages=50)
    assert paths(found) == ["/", "/plain", "/deep/er/page", "/plain?page_id=7"]
    assert found.notes == ()
    assert len(world.targets(place)) == 6  # and robots.txt, sitemap.xml


async def test_pages_that_are_the_same_are_read_once(world: SiteWorld, walk: Crawling) -> None:
    about, elsewhere = text_page("About", WORDS), world.add({"/": text_page("Elsewhere", WORDS)})
    links = ("/about/ A", "/about B", "/about?utm_source=x C", "/home D", "/old E")

    def counted(_asked: Any) -> answers.Answer:
        return text_page("Start", WORDS, f"Visitor {len(world.asked)}.", links=links)

    place = world.add(
        {
            "/": counted,
            "/about": about,
            "/about/": about,
            "/home": answers.redirect("/"),
            "/old": answers.redirect(elsewhere.url("/")),
        }
    )
    found = await walk(place)
    assert paths(found) == ["/", "/about/"]
    assert world.targets(place).count("/about") == 1
    [note] = found.notes
    assert "leads to" in note


async def test_sitemaps_are_found_through_robots_an_index_and_gzip(world: SiteWorld, walk: Crawling) -> None:
    place = world.add({})

    def urls(*which: str) -> bytes:
        inner = "".join(f"<url>\n<loc> {place.url(one)} </loc></url>" for one in which)
        return f'<?xml version="1.0"?><urlset>{inner}</urlset>'.encode()

    parts = (
        f"<sitemap><loc>{place.url('/map-1.xml.gz')}</loc></sitemap><sitemap><loc><![CDATA[{place.url('/map-2.txt')}]]>"
    )
    place.pages |= {
        "/robots.txt": answers.page(f"Sitemap: {place.url('/index.xml')}\nSitemap: http://elsewhere.example/map.xml\n"),
        "/index.xml": answers.page(f"<sitemapindex>{parts}</loc></sitemap></sitemapindex>"),
        "/map-1.xml.gz": answers.Answer(body=gzip.compress(urls("/one?x=1&amp;y=2", "/two"))),
        "/map-2.txt": answers.page(f"{place.url('/three')}\nrubbish\n", content_type="text/plain"),
        "/": text_page("Start", WORDS),
        "/two": text_page("Two", WORDS),
        "/three": text_page("Three", WORDS),
    }
    found = await walk(place)
    assert paths(found, "sitemap") == ["/index.xml", "/map-1.xml.gz", "/map-2.txt"]
    assert paths(found) == ["/", "/two", "/three"]
    assert found.notes == ()


@pytest.mark.parametrize("body", [b"", b"\x1f\x8b broken", b"<urlset><loc>", b"\xff\xfe\x00", b"<a " * 100_000])
async def test_a_broken_sitemap_is_no_harm(body: bytes, world: SiteWorld, walk: Crawling) -> None:
    place = world.add({**small_site(), "/sitemap.xml": answers.Answer(body=body)})
    assert len(paths(await walk(place))) == 6


@pytest.mark.parametrize("piece", ["<a ", "<!--", "<script>", "<a href=", "<base ", "<title", "<loc>"])
async def test_a_page_made_to_be_slow_to_scan_is_not(piece: str, world: SiteWorld, walk: Crawling) -> None:
    place = world.add({"/": answers.page(f"<html><p>{WORDS}</p>" + piece * (1_000_000 // len(piece)))})
    # Work that grows with the square of the page would take hours.
    assert paths(await walk(place)) == ["/"]


# ---------------------------------------------------------------- replay


async def test_a_replay_gives_the_same_crawl_without_network(world: SiteWorld, walk: Crawling) -> None:
    place = world.add(
        {
            **small_site(),
            "/about": answers.status(404),
            "/services": answers.redirect("/offer"),
            "/offer": answers.pdf(),
        }
    )
    live = await walk(place)
    asked = len(world.asked)
    fetcher = KeptFetcher(live.kept)
    again = await crawl(place.url("/"), pages=5, fetcher=fetcher, user_agent="PenstockBot/1.0", told=quiet)
    assert again == live
    assert len(world.asked) == asked


async def test_a_replay_with_more_pages_notes_what_was_not_kept(world: SiteWorld, walk: Crawling) -> None:
    place = world.add(small_site())
    live = await walk(place, pages=1)
    fetcher = KeptFetcher(live.kept)
    again = await crawl(place.url("/"), pages=2, fetcher=fetcher, user_agent="PenstockBot/1.0", told=quiet)
    assert again.fetched == live.fetched
    assert "was not kept" in again.notes[0]
    with pytest.raises(SiteProblem, match="was not kept"):
        await crawl(place.url("/x"), pages=2, fetcher=fetcher, user_agent="PenstockBot/1.0", told=quiet)
