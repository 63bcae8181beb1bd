"""The facts of a site from the pages that were read, which happens in capped children.

Parsers of HTML are written in C and meet whatever people put on the web. A page that breaks one, or keeps it busy for
too long, is a note in the facts; if it is the start page, the site ends with a sentence. Never the runner.
"""

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

from penstock.console.files.capped import Caps
from penstock.console.files.capped_pool import CappedPool
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError
from penstock.extensions.sites.extract.element import folded, unique
from penstock.extensions.sites.extract.names import is_surely, name_of
from penstock.extensions.sites.extract.page import LARGEST_BYTES, Reading, read
from penstock.extensions.sites.fetch.crawl import Crawl
from penstock.extensions.sites.fetch.fetched import Fetched, SiteProblem
from penstock.extensions.sites.findings import ReadPage, SiteContacts, SiteFacts, SiteOffer, SiteTopic

# Raised whenever the same pages give other facts: later stages are computed anew then.
VERSION = "2"
MOST_PAGES = 200
_MOST_TEXT = 4_000_000
_MOST_TOPICS = 40
_MOST_OFFERS = 100
_MOST_PLACES = 30
_MOST_CONTACTS = 20
_MOST_NOTES = 100
# A page of four megabytes takes about two seconds; on a busy machine more on the clock.
CAPS = Caps(memory_mb=768, cpu_seconds=15, answer_seconds=60.0)
_PARSER = "penstock.extensions.sites.extract.page"


def understand(crawl: Crawl) -> SiteFacts:
    return composed(crawl, [read(page) for page in pages_of(crawl)])


def pages_of(crawl: Crawl) -> list[Fetched]:
    """The start page first, then the others as they were fetched."""
    others = [one for one in crawl.fetched if one.kind == "page" and one is not crawl.start]
    return [crawl.start, *(one for one in others if one.final_url != crawl.start.final_url)][:MOST_PAGES]


def composed(crawl: Crawl, readings: Sequence[Reading], notes: Sequence[str] = ()) -> SiteFacts:
    """``readings``: of the start page first. ``notes``: why others are missing."""
    start = readings[0].page
    name = name_of([pair for one in readings for pair in one.names], start.url)
    said = [*crawl.notes, *notes, *(f"{one.page.url}: {note}" for one in readings for note in one.page.notes)]
    return SiteFacts(
        url=start.url,
        name=name,
        title=start.title,
        description=start.description,
        language=start.language or next((one.page.language for one in readings if one.page.language), None),
        canonical=start.canonical,
        topics=_topics(readings, name if is_surely(name, start.url) else None),
        offers=_offers(readings),
        places=unique((place for one in readings for place in one.places), _MOST_PLACES),
        contacts=_contacts(readings),
        pages=_bounded([one.page for one in readings]),
        notes=tuple(dict.fromkeys(said))[:_MOST_NOTES],
    )


def _topics(readings: Sequence[Reading], name: str | None) -> tuple[SiteTopic, ...]:
    """What several pages name counts more, but a word in every menu not as often as there are pages. Who runs the site
    is not what it is about."""
    found: dict[str, SiteTopic] = {}
    for reading in readings:
        for topic in reading.topics:
            key = folded(topic.text)
            if key == folded(name or ""):
                continue
            if (known := found.get(key)) is None:
                found[key] = topic
            else:
                best, other = max(known.weight, topic.weight), min(known.weight, topic.weight)
                found[key] = replace(known, weight=round(best + min(other, 1.0) * 0.5, 3))
    return tuple(sorted(found.values(), key=lambda one: (-one.weight, one.text))[:_MOST_TOPICS])


def _offers(readings: Sequence[Reading]) -> tuple[SiteOffer, ...]:
    """With a price first: that is what people ask for."""
    found: dict[str, SiteOffer] = {}
    for reading in readings:
        for offer in reading.offers:
            key = folded(offer.text)
            if key not in found or (found[key].price is None and offer.price is not None):
                found[key] = offer
    return tuple(sorted(found.values(), key=lambda one: one.price is None)[:_MOST_OFFERS])


def _contacts(readings: Sequence[Reading]) -> SiteContacts:
    def all_of(sort: str) -> Iterable[str]:
        return (text for one in readings for text in getattr(one.contacts, sort))

    return SiteContacts(**{field.name: unique(all_of(field.name), _MOST_CONTACTS) for field in fields(SiteContacts)})


def _bounded(pages: Sequence[ReadPage]) -> tuple[ReadPage, ...]:
    """Facts are stored as one value: the texts of all pages together have a limit."""
    room = _MOST_TEXT
    kept = []
    for page in pages:
        if len(page.text) > room:
            note = "Its text was cut: the pages of the site hold more text than is kept."
            page = replace(page, text=page.text[:room], words=len(page.text[:room].split()), notes=(*page.notes, note))
        room -= len(page.text)
        kept.append(page)
    return tuple(kept)


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
            except (FileRefused, TransientError) as error:
                if self._children.closed:
                    raise self._ended() from None
                if not isinstance(error, FileRefused):
                    raise
                if page is crawl.start:
                    raise SiteProblem(
                        f"{page.final_url} could not be analysed: {error.problem} Give another page of the site to "
                        "start from."
                    ) from None
                notes.append(f"{page.final_url} was left out: {error.problem}")
        return composed(crawl, readings, notes)

    def _page(self, page: Fetched) -> Reading:
        with self._children.lent() as child:
            order = {name: getattr(page, name) for name in ("kind", "url", "final_url", "status", "headers")}
            answers = list(child.ask({"page": order}, page.body[: LARGEST_BYTES + 1]))
            return Reading.from_json(answers[0][0]["reading"])

    def _ended(self) -> TransientError:
        return TransientError("The reader of websites was closed. Try again.")
