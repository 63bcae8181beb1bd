"""Pace per host over the whole fleet, and what a site says about it: on a real database, against loopback sites."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic
from typing import Any

import pytest

from penstock import Context, Penstock
from penstock.brokers import budgets
from penstock.config import load
from penstock.control import limits
from penstock.errors import ThrottledError
from penstock.extensions.sites.fetch import robots
from penstock.extensions.sites.fetch.crawl import Crawl, crawl
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from penstock.lifecycle import State
from penstock.testing import drain
from penstock.workers import facilities
from tests.extensions import site_answers as answers
from tests.extensions.site_answers import small_site
from tests.extensions.site_world import Place, SiteWorld
from tests.recorded_grants import RecordedGrants
from tests.unit.gcra import SECOND


@pytest.fixture
async def world() -> AsyncIterator[SiteWorld]:
    async with SiteWorld() as opened:
        yield opened


class Reading:
    """An application with one task that crawls a site."""

    def __init__(self, database_url: str, world: SiteWorld, **settings: Any) -> None:
        given = {"sites_allowed_hosts": world.allowed(), "sites_per_second": 200.0} | settings
        self.app = Penstock("test", settings=load(database_url=database_url, **given))
        self.client = Client(self.app)
        self.found: list[Crawl] = []

        @self.app.task(name="read")
        async def read(ctx: Context, url: str, pages: int) -> None:
            fetcher = LiveFetcher(ctx, self.client)
            self.found.append(
                await crawl(url, pages=pages, fetcher=fetcher, user_agent="PenstockBot/1.0", told=lambda *_: None)
            )

        self._read = read

    async def read(self, place: Place, pages: int = 5) -> Any:
        return await self._read.enqueue(url=place.url("/"), pages=pages)

    async def limit(self, place: Place) -> Any:
        [view] = [one for one in await limits.listing(self.app) if one.key == f"host:{place.host}"]
        return view


@asynccontextmanager
async def reading(database_url: str, world: SiteWorld, **settings: Any) -> AsyncIterator[Reading]:
    made = Reading(database_url, world, **settings)
    await made.app.open()
    try:
        yield made
    finally:
        await made.client.close()
        await made.app.close()


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        ("Crawl-delay: 2\nRequest-rate: 1/10s", 10.0),
        ("Crawl-delay: 2\nRequest-rate: 10/10s", 2.0),
        ("Request-rate: 1/5s", 5.0),
        ("Crawl-delay: 600", 30.0),
        ("Disallow: /private/", 0.0),
    ],
)
def test_of_two_delays_that_a_site_asks_for_the_longer_counts(rules: str, seconds: float) -> None:
    url = "https://shop.example/robots.txt"
    body = f"User-agent: *\n{rules}\n".encode()
    told = Fetched(kind="robots", url=url, final_url=url, status=200, headers={}, body=body)
    assert robots.understood(told, "penstock").delay_seconds == seconds


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> RecordedGrants:
    recorded = RecordedGrants()

    def watched(*given: Any) -> Any:
        made = budgets.budgets_of(*given)
        recorded.watch(made)
        return made

    monkeypatch.setattr(facilities, "budgets_of", watched)
    return recorded


def pages_granted(granted: RecordedGrants, world: SiteWorld) -> list[float]:
    """The seconds for which the store granted each request but those for robots.txt, and that none went out earlier."""
    assert granted.used_early([asked.at for asked in world.asked]) == []
    together = zip(granted.grants, world.asked, strict=True)
    return [at / SECOND for (at, _), asked in together if asked.target != "/robots.txt"]


async def test_a_host_is_asked_no_faster_than_the_setting_says(
    database_url: str, world: SiteWorld, granted: RecordedGrants
) -> None:
    place = world.add(small_site())
    async with reading(database_url, world, sites_per_second=4.0) as one:
        await one.read(place, pages=3)
        assert (await drain(one.app)).done == 1
        assert (await one.limit(place)).rate == 4.0
    times = pages_granted(granted, world)  # robots.txt comes before the pace is known
    assert len(times) == 5
    assert times[-1] - times[0] >= 4 * 0.25 - 1e-3


async def test_crawl_delay_slows_the_host_for_the_whole_fleet(
    database_url: str, world: SiteWorld, granted: RecordedGrants
) -> None:
    place = world.add({**small_site(), "/robots.txt": answers.page("User-agent: *\nCrawl-delay: 0.4\n")})
    async with reading(database_url, world) as one, reading(database_url, world) as other:
        await one.read(place, pages=2)
        await drain(one.app)
        assert (await one.limit(place)).rate == pytest.approx(2.5)
        await other.read(place, pages=2)
        await drain(other.app)
    pages = pages_granted(granted, world)
    assert len(pages) == 8
    assert pages[-1] - pages[0] >= 7 * 0.4 - 1e-3


async def test_a_delay_longer_than_a_processor_should_wait_does_not_start_the_crawl_over(
    database_url: str, world: SiteWorld
) -> None:
    """The limiter sends tasks away that would wait more than two seconds; a crawl in the middle waits all the same."""
    place = world.add({**small_site(), "/robots.txt": answers.page("User-agent: *\nCrawl-delay: 2.6\n")})
    async with reading(database_url, world) as one:
        await one.read(place, pages=1)
        drained = await drain(one.app)
        assert (drained.done, drained.released) == (1, 0)
    assert world.targets(place) == ["/robots.txt", "/", "/sitemap.xml", "/about"]


async def test_further_pages_are_left_out_when_the_time_would_not_do(database_url: str, world: SiteWorld) -> None:
    place = world.add({**small_site(), "/robots.txt": answers.page("User-agent: *\nCrawl-delay: 30\n")})
    async with reading(database_url, world, sites_timeout_seconds=40.0) as one:
        await one.read(place)
        assert (await drain(one.app)).done == 1
        [found] = one.found
        assert [page.kind for page in found.fetched] == ["robots", "page"]
        assert found.notes


def _in_two_forms() -> list[Any]:
    def as_date(_asked: Any) -> answers.Answer:
        now = datetime.now(UTC)
        later = format_datetime(now + timedelta(seconds=30), usegmt=True)
        return answers.status(429, Retry_After=later, Date=format_datetime(now, usegmt=True))

    return [pytest.param(answers.status(429, Retry_After="30"), id="seconds"), pytest.param(as_date, id="date")]


@pytest.mark.parametrize("answer", _in_two_forms())
async def test_retry_after_holds_the_host_for_everybody_and_burns_no_attempt(
    answer: Any, database_url: str, world: SiteWorld
) -> None:
    place = world.add({**small_site(), "/": answer})
    async with reading(database_url, world, sites_timeout_seconds=10.0) as one:
        await one.read(place)
        await one.read(place)
        began = monotonic()
        drained = await drain(one.app)
        assert (drained.ended, drained.waiting) == ({}, 2)
        blocked = (await one.limit(place)).blocked_seconds
        assert 28 - (monotonic() - began) < blocked <= 30.5
        async with one.app.connection() as connection:
            rows = await connection.fetch(
                "select attempt, extract(epoch from run_at - now())::float8 as left from penstock.queue"
            )
        assert all(row["attempt"] == 0 and row["left"] > 20 - (monotonic() - began) for row in rows)
    assert world.targets(place).count("/") == 1


async def test_a_site_that_says_429_for_ever_ends_with_a_sentence(database_url: str, world: SiteWorld) -> None:
    place = world.add({**small_site(), "/": answers.status(429)})
    async with reading(database_url, world) as one:
        await one.read(place)
        drained = await drain(one.app, advance=True, most_runs=50)
        assert drained.ended == {State.ERROR: 1}
        async with one.app.connection() as connection:
            error = await connection.fetchval("select error ->> 'message' from penstock.outcomes")
        assert "again and again" in error
    assert world.targets(place).count("/") == 6  # three waits, three attempts


@pytest.mark.parametrize("code", [429, 503])
async def test_a_site_that_asks_for_days_is_left_alone_for_an_hour_and_burns_an_attempt(
    code: int, database_url: str, world: SiteWorld
) -> None:
    place = world.add({**small_site(), "/": answers.status(code, Retry_After="864000")})
    async with reading(database_url, world) as one:
        await one.read(place)
        drained = await drain(one.app)
        assert (drained.ended, drained.waiting) == ({}, 1)
        assert 3500 < (await one.limit(place)).blocked_seconds <= 3600.5
        async with one.app.connection() as connection:
            assert await connection.fetchval("select attempt from penstock.queue") == 1


async def test_long_waits_come_to_an_end_though_no_process_lives_to_count_them(
    database_url: str, world: SiteWorld
) -> None:
    place = world.add({**small_site(), "/": answers.status(429, Retry_After="1200")})
    attempts: list[Any] = []
    for _ in range(3):
        async with reading(database_url, world) as one:
            if not attempts:
                await one.read(place)
            async with one.app.connection() as connection:
                await connection.execute("delete from penstock.limits")
                await connection.execute("update penstock.queue set run_at = now()")
            drained = await drain(one.app)
            attempts.append(drained.ended)
    assert attempts == [{}, {}, {State.ERROR: 1}]
    assert world.targets(place).count("/") == 3


async def test_503_with_retry_after_is_tried_again_no_earlier_than_asked(database_url: str, world: SiteWorld) -> None:
    times: list[float] = []

    def busy_once(asked: Any) -> answers.Answer:
        times.append(asked.at)
        return answers.status(503, Retry_After="2") if len(times) == 1 else small_site()["/"]

    place = world.add({**small_site(), "/": busy_once})
    async with reading(database_url, world) as one:
        await one.read(place, pages=0)
        drained = await drain(one.app, advance=True)
        assert (drained.done, drained.released) == (1, 1)
    assert times[1] - times[0] >= 2.0


async def test_tasks_of_one_host_share_its_robots_file_for_a_while(database_url: str, world: SiteWorld) -> None:
    place = world.add(small_site())
    async with reading(database_url, world) as one:
        for _ in range(3):
            await one.read(place, pages=0)
        assert (await drain(one.app)).done == 3
        assert all(found.fetched[0].kind == "robots" for found in one.found)
    assert world.targets(place).count("/robots.txt") == 1


async def test_many_sites_at_once_do_not_wait_for_one_that_hangs(database_url: str, world: SiteWorld) -> None:
    hanging = world.add({"*": answers.hanging()})
    places = [world.add(small_site(f"Shop {number}")) for number in range(20)]
    async with reading(database_url, world, sites_page_timeout_seconds=600.0) as one:
        stuck = asyncio.create_task(LiveFetcher(None, one.client).get(hanging.url(), kind="page"))
        fetchers = [LiveFetcher(None, one.client) for _ in places]
        await asyncio.gather(
            *(fetcher.get(place.url(), kind="page") for fetcher, place in zip(fetchers, places, strict=True))
        )
        assert not stuck.done()
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)


async def test_without_a_context_429_is_still_a_wait(world: SiteWorld) -> None:
    place = world.add({"/": answers.status(429)})
    client = Client(Penstock("test", settings=load(sites_allowed_hosts=world.allowed())))
    with pytest.raises(ThrottledError):
        await LiveFetcher(None, client).get(place.url(), kind="page")
    await client.close()
