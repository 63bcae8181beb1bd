"""Where a crawl gets its pages from: the network, or what an earlier run kept."""

from typing import Protocol

from penstock.apps.website_analysis.fetch.fetched import Fetched, Kind


class Fetcher(Protocol):
    async def get(self, url: str, *, kind: Kind) -> Fetched:
        """A page that can be read, or a ``SiteProblem``, ``SiteBusy`` or ``ThrottledError`` with a sentence.

        A robots.txt or sitemap that is not there is an answer too: its status says so.
        """
        ...
