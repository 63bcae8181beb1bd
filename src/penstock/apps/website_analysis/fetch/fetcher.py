"""Where a crawl gets its pages from: the network, or what an earlier run kept."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from penstock.apps.website_analysis.fetch.fetched import Fetched, Kind

# Asked before a redirect is followed; raises where it must not be.
Onward = Callable[[str], Awaitable[None]]


class Fetcher(Protocol):
    async def get(self, url: str, *, kind: Kind, onward: Onward | None = None) -> Fetched:
        """A page that can be read, or a ``SiteProblem``, ``SiteBusy`` or ``ThrottledError`` with a sentence.

        A robots.txt or sitemap that is not there is an answer too: its status says so.
        """
        ...
