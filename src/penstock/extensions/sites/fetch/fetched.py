"""One answer of a website, as it came."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

Kind = Literal["page", "robots", "sitemap"]
# Asked before a redirect is followed; raises where it must not be.
Onward = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """``url`` as asked for, ``final_url`` after redirects; header names in lower case.

    ``body`` is unpacked (gzip, deflate), but its characters are not decoded: that needs a look into the page.
    """

    kind: Kind
    url: str
    final_url: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.body).hexdigest()


class Fetcher(Protocol):
    """Where a crawl gets its pages from: the network, or what an earlier run kept."""

    async def get(self, url: str, *, kind: Kind, onward: Onward | None = None) -> Fetched:
        """A page that can be read, or a ``SiteProblem``, ``SiteBusy`` or ``ThrottledError`` with a sentence.

        A robots.txt or sitemap that is not there is an answer too: its status says so.
        """
        ...
