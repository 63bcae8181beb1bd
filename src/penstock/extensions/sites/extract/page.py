"""One page, read: its facts, and what it adds to the facts of the site."""

from dataclasses import dataclass
from typing import Any

from penstock.console.files.capped_child import Send
from penstock.console.files.frames import Header
from penstock.extensions.sites.extract import head
from penstock.extensions.sites.extract.charset import decoded
from penstock.extensions.sites.extract.contacts import contacts, places
from penstock.extensions.sites.extract.element import MOST_ELEMENTS, Element, parsed
from penstock.extensions.sites.extract.head import items as json_ld_items
from penstock.extensions.sites.extract.languages import language
from penstock.extensions.sites.extract.main_text import Main, main_of
from penstock.extensions.sites.extract.names import candidates
from penstock.extensions.sites.extract.topics import offers, topics
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.findings import Finding, ReadPage, SiteContacts, SiteOffer, SiteTopic

LARGEST_BYTES = 4 * 1024 * 1024
_FEWEST_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Finding):
    """``names`` with how much each counts."""

    page: ReadPage
    names: tuple[tuple[str, float], ...]
    topics: tuple[SiteTopic, ...]
    offers: tuple[SiteOffer, ...]
    places: tuple[str, ...]
    contacts: SiteContacts


def read(fetched: Fetched) -> Reading:
    url = fetched.final_url
    content_type = fetched.headers.get("content-type", "")
    found = decoded(fetched.body[:LARGEST_BYTES], content_type)
    tree = parsed(found.text)
    meta = head.metas(tree)
    items, json_notes = json_ld_items(tree)
    title = head.title(tree, meta)
    main = main_of(tree)
    canonical, canonical_note = head.canonical(tree, meta, url)
    reached = contacts(tree, items)
    notes = (found.note, canonical_note, *json_notes, *_left_out(fetched, tree, main))
    page = ReadPage(
        url=url,
        status=fetched.status,
        sha256=fetched.sha256,
        content_type=content_type[:200],
        charset=found.charset,
        title=title,
        description=head.description(meta, items),
        language=language(tree, meta, main.text or " ".join(filter(None, (title, meta.get("description"))))),
        canonical=canonical,
        headings=main.headings,
        open_graph=head.open_graph(meta),
        json_ld=items,
        text=main.text,
        words=len(main.text.split()),
        links=head.links(tree, url),
        notes=tuple(note for note in notes if note),
    )
    sayings = [title or "", page.description or "", *(heading.text for heading in main.headings)]
    return Reading(
        page=page,
        names=tuple(candidates(tree, meta, items, title)),
        topics=topics(tree, headings=main.headings, title=title, meta=meta, items=items, url=url),
        offers=offers(main.parts, items, url),
        places=places(items, sayings, reached.addresses),
        contacts=reached,
    )


def _left_out(fetched: Fetched, tree: Element, main: Main) -> list[str]:
    notes = []
    if len(fetched.body) > LARGEST_BYTES:
        notes.append(f"The page is {len(fetched.body):,} bytes long; only the first {LARGEST_BYTES:,} were read.")
    if sum(1 for _ in tree.walk()) > MOST_ELEMENTS:
        notes.append(f"The page has more than {MOST_ELEMENTS:,} elements; the others were not read.")
    if len(main.text.split()) < _FEWEST_WORDS and len(main.text) <= 20:
        notes.append("The page holds hardly any text without JavaScript; it was read from what its head says.")
    return notes


def serve(order: Header, blob: bytes, send: Send) -> None:
    page: dict[str, Any] = order["page"]
    send({"kind": "reading", "reading": read(Fetched(**page, body=blob)).as_json()})
