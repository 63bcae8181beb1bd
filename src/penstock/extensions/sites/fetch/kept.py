"""A site as it was when an earlier run read it: the same answers, without network."""

from collections.abc import Sequence

from penstock.errors import ThrottledError
from penstock.extensions.sites.fetch.fetched import Fetched, Kind, Onward
from penstock.extensions.sites.problem import SiteBusy, SiteProblem

# What could not be read is kept as these headers and nothing else, so that a replay goes the same way.
PROBLEM = "x-penstock-problem"
_SORT = "x-penstock-problem-sort"


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
