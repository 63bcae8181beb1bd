"""The facts of a site from the pages that were read. Pure, and the same for the same pages."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from penstock.extensions.sites.extract.names import is_surely, name_of
from penstock.extensions.sites.extract.page import Reading, read
from penstock.extensions.sites.extract.wording import folded, unique
from penstock.extensions.sites.facts import ReadPage, SiteContacts, SiteFacts, SiteOffer, SiteTopic
from penstock.extensions.sites.fetch.crawl import Crawl
from penstock.extensions.sites.fetch.fetched import Fetched

# Raised whenever the same pages give other facts: later stages are computed anew then.
VERSION = "2"
MOST_PAGES = 200
_MOST_TEXT = 4_000_000
_MOST_TOPICS = 40
_MOST_OFFERS = 100
_MOST_PLACES = 30
_MOST_CONTACTS = 20
_MOST_NOTES = 100


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
