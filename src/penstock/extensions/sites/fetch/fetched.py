"""One answer of a website as it came, or why there is none; and a site as it was when an earlier run read it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from penstock.errors import PermanentError, ThrottledError, TransientError

Kind = Literal["page", "robots", "sitemap"]
# Asked before a redirect is followed; raises where it must not be.
Onward = Callable[[str], Awaitable[None]]
# What could not be read is kept as these headers and nothing else, so that a replay goes the same way.
PROBLEM = "x-penstock-problem"
_SORT = "x-penstock-problem-sort"


class SiteProblem(PermanentError):
    """Trying again would not help: no such page, not a website, robots.txt says no."""


class SiteBusy(TransientError):
    """Trying again may help: no answer, an answer 503, a broken connection."""


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


class ReadAlready(SiteProblem):
    """A page that was read under another address. No fault, so nobody is told."""


def failed(url: str, problem: Exception, kind: Kind = "page") -> Fetched:
    """What is kept of an answer that could not be used."""
    sort = next((name for name, error in _SORTS.items() if isinstance(problem, error)), "problem")
    headers = {PROBLEM: plain(str(problem)), _SORT: sort}
    return Fetched(kind=kind, url=url, final_url=url, status=0, headers=headers, body=b"")


def plain(sentence: str) -> str:
    """Without control characters, which a site may have put into an address that is quoted."""
    return "".join(character if character.isprintable() else " " for character in sentence)


class KeptFetcher:
    """What was not asked for in that run cannot be answered now."""

    def __init__(self, pages: Sequence[Fetched]) -> None:
        self._pages = {(page.kind, page.url): page for page in reversed(pages)}

    async def get(self, url: str, *, kind: Kind, onward: Onward | None = None) -> Fetched:
        found = self._pages.get((kind, url))
        if found is None:
            raise SiteProblem(
                f"{url} was not kept by the run that is replayed. Run the analysis again without replay to read it."
            )
        if PROBLEM in found.headers:
            raise _SORTS.get(found.headers.get(_SORT, ""), SiteProblem)(found.headers[PROBLEM])
        return found


_SORTS: dict[str, type[SiteProblem] | type[SiteBusy] | type[ThrottledError]] = {
    "already": ReadAlready,
    "busy": SiteBusy,
    "throttled": ThrottledError,
}
