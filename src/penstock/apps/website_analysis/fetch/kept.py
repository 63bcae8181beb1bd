"""A site as it was when an earlier run read it: the same answers, without network."""

from collections.abc import Sequence

from penstock.apps.website_analysis.fetch.fetched import Fetched, Kind
from penstock.apps.website_analysis.problem import SiteProblem

# A page that could not be read is kept as this header and nothing else, so that a replay notes the same.
PROBLEM = "x-penstock-problem"


def failed(url: str, sentence: str) -> Fetched:
    """What is kept of a page that could not be read."""
    return Fetched(kind="page", url=url, final_url=url, status=0, headers={PROBLEM: sentence}, body=b"")


class KeptFetcher:
    """What was not asked for in that run cannot be answered now."""

    def __init__(self, pages: Sequence[Fetched]) -> None:
        self._pages = {(page.kind, page.url): page for page in reversed(pages)}

    async def get(self, url: str, *, kind: Kind) -> Fetched:
        found = self._pages.get((kind, url))
        if found is None:
            raise SiteProblem(
                f"{url} was not kept by the run that is replayed. Run the analysis again without replay to read it."
            )
        if PROBLEM in found.headers:
            raise SiteProblem(found.headers[PROBLEM])
        return found
