"""Pages from the network: checked at every hop, paced per host for the whole fleet, capped in size and time.

All crawls of one process share the HTTP client, robots.txt files for a while, and what was said already about the pace
of a host. The pace itself is the fleet's (``ctx.limiter("host:…")``).
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import TypeVar

import httpx2

from penstock import Context, Penstock
from penstock.control import limits
from penstock.errors import HandlerError, ThrottledError
from penstock.extensions.sites.fetch.address import host_and_port, joined, same_origin
from penstock.extensions.sites.fetch.fetched import Fetched, Kind, Onward, SiteBusy, SiteProblem
from penstock.extensions.sites.fetch.request import Caps, HttpReply, ask, check_page, check_status
from penstock.extensions.sites.fetch.robots import understood
from penstock.extensions.sites.settings import SitesSettings
from penstock.limits.rate_headers import asked_wait_seconds

# A limit that nobody used for a day is removed; long before that it is told again.
_TOLD_SECONDS = 3600.0
# RFC 9309 allows a day. Minutes are enough that a task which has to wait for its turn does not ask again.
_ROBOTS_SECONDS = 600.0
_MOST_HOSTS = 1000
_MOST_ROBOTS, _LARGEST_ROBOTS_BYTES = 200, 64 * 1024
_MOST_TASKS = 10_000

Key = TypeVar("Key")
Value = TypeVar("Value")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ROBOTS_BYTES = 512 * 1024
# Share of the stage's time that may pass before no further wait or page is begun.
_SHARE_OF_TIME = 0.6
# A site that answers 429 for ever would be waited for without end, since waiting burns no attempt.
_MOST_THROTTLED = 3
# Nor is it waited for as long as it likes. A host is left alone for an hour at most; and since the waits are counted in
# this process only, a long one burns an attempt, which the database counts.
_LONGEST_HOLD_SECONDS, _LONGEST_FREE_SECONDS = 3600.0, 300.0
_MOST_HEADERS, _LONGEST_HEADER = 100, 1000
_MOST_COOKIES = 20


def limiter_key(host: str) -> str:
    return f"host:{host}"


class Client:
    """Made without a loop; opened by its first use. Cookies are never kept: sites of different owners share it."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._http: httpx2.AsyncClient | None = None
        self._told: dict[str, tuple[float, float]] = {}
        self._robots: dict[str, tuple[Fetched, float]] = {}
        self._throttled: dict[tuple[int, int], int] = {}

    @property
    def settings(self) -> SitesSettings:
        return self._app.settings.of(SitesSettings)

    @property
    def http(self) -> httpx2.AsyncClient:
        if self._http is None:
            self._http = httpx2.AsyncClient(
                headers={
                    "User-Agent": self.settings.user_agent,
                    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.8,*/*;q=0.5",
                    "Accept-Encoding": "gzip, deflate",
                    # A connection belongs to one name: two names on one address have different certificates.
                    "Connection": "close",
                },
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
                trust_env=False,
                timeout=self.settings.page_timeout_seconds,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
            )
        return self._http

    async def close(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def pace(self, host: str, delay_seconds: float | None = None) -> None:
        """Tell the fleet how fast a host may be asked. ``None``: its robots.txt is not known, so whatever was told
        before stays."""
        told_rate, told_at = self._told.get(host, (0.0, 0.0))
        fresh = told_rate > 0 and monotonic() - told_at < _TOLD_SECONDS
        rate = min(self.settings.per_second, 1 / delay_seconds if delay_seconds else math.inf)
        if fresh and (delay_seconds is None or told_rate == rate):
            return
        await limits.configure(self._app, limiter_key(host), rate, 1, by="website-analysis")
        _remember(self._told, host, (rate, monotonic()), _MOST_HOSTS)

    def robots(self, url: str) -> Fetched | None:
        fetched, at = self._robots.get(url, (None, 0.0))
        return fetched if monotonic() - at < _ROBOTS_SECONDS else None

    def know_robots(self, fetched: Fetched) -> None:
        if len(fetched.body) <= _LARGEST_ROBOTS_BYTES:
            _remember(self._robots, fetched.url, (fetched, monotonic()), _MOST_ROBOTS)

    def throttled(self, task: tuple[int, int]) -> int:
        """How often this run of a task has been asked to slow down, this time included."""
        count = self._throttled.get(task, 0) + 1
        _remember(self._throttled, task, count, _MOST_TASKS)
        return count


def _remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """The newest last; the oldest goes when there are too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]


class LiveFetcher:
    """For one run of one task. Without ``ctx`` nobody is paced: for the single request of a person who waits."""

    def __init__(self, ctx: Context | None, client: Client) -> None:
        self._ctx = ctx
        self._client = client
        self._settings = client.settings
        self._ends_at = monotonic() + self._settings.timeout_seconds * _SHARE_OF_TIME
        self._pages = 0

    async def get(self, url: str, *, kind: Kind, onward: Onward | None = None) -> Fetched:
        if kind == "robots" and (known := self._client.robots(url)) is not None:
            return known
        if self._pages and monotonic() > self._ends_at:
            raise SiteBusy(f"{url} was left out: the site is so slow that there was no time for it.")
        reply = await self._followed(url, kind, onward)
        with _in_a_sentence(url):
            fetched = _judged(reply, url, kind)
        if kind == "page":
            self._pages += 1
        if kind == "robots":
            await self._know_robots(fetched)
        return fetched

    async def _know_robots(self, fetched: Fetched) -> None:
        self._client.know_robots(fetched)
        if self._ctx is not None:
            robots = await asyncio.to_thread(understood, fetched, self._settings.user_agent)
            await self._client.pace(host_and_port(fetched.url)[0], robots.delay_seconds)

    async def _followed(self, url: str, kind: Kind, onward: Onward | None) -> HttpReply:
        """The answer behind all redirects. Cookies live as long as this: some sites redirect until one is sent."""
        at, left_seconds = url, self._settings.page_timeout_seconds
        cookies: dict[str, str] = {}
        seen: set[tuple[str, str]] = set()
        for _ in range(self._settings.max_redirects + 1):
            sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
            if (at, sent) in seen:
                raise SiteProblem(
                    f"{url} redirects in a circle: {at} leads back to itself. Its owner has to repair it."
                )
            seen.add((at, sent))
            await self._turn(at, kind)
            reply, left_seconds = await self._hop(at, kind, sent, left_seconds)
            if reply.status not in _REDIRECTS or "location" not in reply.headers:
                return reply
            following = joined(at, reply.headers["location"])
            if following is None:
                raise SiteProblem(f"{url} redirects to {reply.headers['location'][:200]!r}, which is no web page.")
            if onward is not None:
                await onward(following)
            cookies = _cookies_after(reply, cookies) if same_origin(at, following) else {}
            at = following
        raise SiteProblem(
            f"{url} redirects more than {self._settings.max_redirects} times. Give the address it should end at."
        )

    async def _turn(self, url: str, kind: Kind) -> None:
        """Waits for the host's permit while there is time. A longer wait is the queue's: the task gives up its
        processor until then."""
        if self._ctx is None:
            return
        host, _ = host_and_port(url)
        if kind != "robots":
            await self._client.pace(host)
        while True:
            try:
                return await self._ctx.limiter(limiter_key(host)).acquire()
            except ThrottledError as busy:
                if monotonic() + busy.retry_after > self._ends_at:
                    raise
                await asyncio.sleep(max(busy.retry_after, 0.05))

    async def _hop(self, url: str, kind: Kind, cookies: str, left_seconds: float) -> tuple[HttpReply, float]:
        """One request, and how many seconds are left for the next."""
        caps = Caps(
            max_bytes=_ROBOTS_BYTES if kind == "robots" else self._settings.max_page_bytes,
            cut=kind == "robots",
            allowed_hosts=self._settings.allowed_hosts,
        )
        since = monotonic()
        try:
            async with asyncio.timeout(left_seconds):
                with _in_a_sentence(url):
                    reply = await ask(self._client.http, url, caps, {"Cookie": cookies} if cookies else {})
        except TimeoutError:
            raise SiteBusy(
                f"{url} took longer than {self._settings.page_timeout_seconds:g} s. The site may be overloaded."
            ) from None
        await self._learn(reply)
        return reply, left_seconds - (monotonic() - since)

    async def _learn(self, reply: HttpReply) -> None:
        """What the answer says about pace holds for every worker."""
        host, _ = host_and_port(reply.url)
        wait_seconds = asked_wait_seconds(reply.headers, reply.status) or 0.0
        if self._ctx is not None and wait_seconds > 0:
            held_seconds = min(wait_seconds, _LONGEST_HOLD_SECONDS)
            await self._ctx.limiter(limiter_key(host)).penalise(held_seconds, f"the answer {reply.status} asked for it")
        if reply.status != 429:
            return
        if wait_seconds > _LONGEST_FREE_SECONDS:
            raise SiteBusy(f"{host} asks to be left alone for {wait_seconds:,.0f} s (answer 429). Try it later.")
        task = None if self._ctx is None else (self._ctx.task_id, self._ctx.run)
        if task is not None and self._client.throttled(task) > _MOST_THROTTLED:
            raise SiteBusy(f"{host} asks again and again to slow down (answer 429). Try it on another day.")
        raise ThrottledError(
            f"{host} asks to slow down (answer 429).", retry_after=wait_seconds or 1.0, key=limiter_key(host)
        )


@contextmanager
def _in_a_sentence(url: str) -> Iterator[None]:
    """Whatever an answer breaks, people read a sentence about the page, and the other pages are read."""
    try:
        yield
    except HandlerError:
        raise
    except OSError as error:
        raise SiteBusy(f"{url} could not be asked just now ({type(error).__name__}).") from error
    except Exception as error:
        raise SiteProblem(f"{url} answers in a way that cannot be read ({type(error).__name__}).") from error


def _judged(reply: HttpReply, url: str, kind: Kind) -> Fetched:
    if kind == "page":
        check_status(reply)
        check_page(reply)
    elif not 400 <= reply.status < 500:
        check_status(reply)
    return Fetched(
        kind=kind,
        url=url,
        final_url=reply.url,
        status=reply.status,
        headers=_kept_headers(reply),
        body=reply.body,
    )


def _cookies_after(reply: HttpReply, cookies: dict[str, str]) -> dict[str, str]:
    """Without those that no header can carry."""
    found = dict(cookies)
    for line in reply.headers.get_list("set-cookie")[:_MOST_COOKIES]:
        try:
            parsed = SimpleCookie(line[:_LONGEST_HEADER])
        except CookieError:
            continue
        told = ((name, morsel.coded_value) for name, morsel in parsed.items())
        found |= {name: value for name, value in told if f"{name}{value}".isascii() and value.isprintable()}
    return dict(list(found.items())[:_MOST_COOKIES])


def _kept_headers(reply: HttpReply) -> dict[str, str]:
    """Without cookies: what is kept shall open no door."""
    kept = {
        name.lower(): value[:_LONGEST_HEADER].replace("\0", "")
        for name, value in reply.headers.items()
        if name.lower() != "set-cookie"
    }
    return dict(list(kept.items())[:_MOST_HEADERS])
