"""What a site's robots.txt asks of us (RFC 9309): where not to go, how slowly, where its sitemaps are."""

import math
from urllib.parse import urlsplit, urlunsplit

from protego import Protego

from penstock.apps.website_analysis.fetch.fetched import Fetched

# More is not asked for often, and a crawl that rests longer would not end within its stage.
LONGEST_DELAY_SECONDS = 30.0
_MOST_SITEMAPS = 20


class Robots:
    """``told`` None: there is no robots.txt, so everything may be read."""

    def __init__(self, told: Protego | None, user_agent: str) -> None:
        self._told = told
        # Rules name the product, without version and comment.
        self._name = user_agent.partition("/")[0].strip() or user_agent

    def allows(self, url: str) -> bool:
        return self._told is None or self._told.can_fetch(url, self._name)

    @property
    def delay_seconds(self) -> float:
        """Between two requests; 0 where nothing is asked for."""
        if self._told is None:
            return 0.0
        delay = self._told.crawl_delay(self._name) or 0.0
        rate = self._told.request_rate(self._name)
        if rate is not None and rate.requests > 0:
            delay = max(delay, rate.seconds / rate.requests)
        return min(max(delay, 0.0), LONGEST_DELAY_SECONDS) if math.isfinite(delay) else 0.0

    @property
    def sitemaps(self) -> list[str]:
        return [] if self._told is None else list(dict.fromkeys(self._told.sitemaps))[:_MOST_SITEMAPS]


def robots_url(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", ""))


def understood(fetched: Fetched | None, user_agent: str) -> Robots:
    """A missing file allows everything; so does one that is no text."""
    if fetched is None or not 200 <= fetched.status < 300:
        return Robots(None, user_agent)
    return Robots(Protego.parse(fetched.body.decode("utf-8-sig", errors="replace")), user_agent)
