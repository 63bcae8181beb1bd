"""Reads the pages of a site in capped children.

Parsers of HTML are written in C and meet whatever people put on the web. A page that breaks one, or keeps it busy for
too long, is a note in the facts; if it is the start page, the site ends with a sentence. Never the runner.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from penstock.console.files.capped import Caps
from penstock.console.files.capped_pool import CappedPool
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError
from penstock.extensions.sites.extract.page import LARGEST_BYTES, Reading
from penstock.extensions.sites.extract.site import composed, pages_of
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.fetch.crawl import Crawl
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.problem import SiteProblem

# A page of four megabytes takes about two seconds; on a busy machine more on the clock.
CAPS = Caps(memory_mb=768, cpu_seconds=15, answer_seconds=60.0)
_PARSER = "penstock.extensions.sites.extract.reading_child"


class Reader:
    """Reads one site at a time; more wait. Children are kept between sites."""

    def __init__(self, *, caps: Caps = CAPS) -> None:
        self._children = CappedPool(_PARSER, caps, subject="page")
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="penstock-sites")

    async def read(self, crawl: Crawl) -> SiteFacts:
        """Raises :class:`SiteProblem` where the start page cannot be read, :class:`TransientError` where somebody ended
        the child that read a page."""
        if self._children.closed:
            raise self._ended()
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._site, crawl)

    async def close(self) -> None:
        """Ends the children. Sites that are being read end with a :class:`TransientError`."""
        self._children.end()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._children.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the children that wait for work."""
        return self._children.pids

    # ---------------------------------------------------------------- in a thread

    def _site(self, crawl: Crawl) -> SiteFacts:
        readings: list[Reading] = []
        notes: list[str] = []
        for page in pages_of(crawl):
            try:
                readings.append(self._page(page))
            except FileRefused as refused:
                if self._children.closed:
                    raise self._ended() from None
                if page is crawl.start:
                    raise _unreadable(page, refused) from None
                notes.append(f"{page.final_url} was left out: {refused.problem}")
            except TransientError:
                if self._children.closed:
                    raise self._ended() from None
                raise
        return composed(crawl, readings, notes)

    def _page(self, page: Fetched) -> Reading:
        with self._children.lent() as child:
            order = {
                "kind": page.kind,
                "url": page.url,
                "final_url": page.final_url,
                "status": page.status,
                "headers": page.headers,
            }
            answers = list(child.ask({"page": order}, page.body[: LARGEST_BYTES + 1]))
            return Reading.from_json(answers[0][0]["reading"])

    def _ended(self) -> TransientError:
        return TransientError("The reader of websites was closed. Try again.")


def _unreadable(page: Fetched, refused: FileRefused) -> SiteProblem:
    return SiteProblem(
        f"{page.final_url} could not be analysed: {refused.problem} Give another page of the site to start from."
    )
