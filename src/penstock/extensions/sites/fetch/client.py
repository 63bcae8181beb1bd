"""What all crawls of one process share: the HTTP client, the pace of each host, and robots.txt files for a while.

The pace itself is the fleet's (``ctx.limiter("host:…")``); here is only remembered what was said about it already.
"""

import math
from http.cookiejar import CookieJar, DefaultCookiePolicy
from time import monotonic
from typing import TypeVar

import httpx2

from penstock import Penstock
from penstock.control import limits
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.settings import SitesSettings

# A limit that nobody used for a day is removed; long before that it is told again.
_TOLD_SECONDS = 3600.0
# RFC 9309 allows a day. Minutes are enough that a task which has to wait for its turn does not ask again.
_ROBOTS_SECONDS = 600.0
_MOST_HOSTS = 1000
_MOST_ROBOTS, _LARGEST_ROBOTS_BYTES = 200, 64 * 1024
_MOST_TASKS = 10_000

Key = TypeVar("Key")
Value = TypeVar("Value")


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
