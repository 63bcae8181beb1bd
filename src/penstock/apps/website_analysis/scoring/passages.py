"""The sentences of a site that could answer something, each with its page and the heading above it."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.apps.website_analysis.facts import Facts, PageFacts
from penstock.language.sentences import sentences
from penstock.language.words import folded

# A word or two is a label, not a sentence.
_FEWEST_CHARACTERS = 12
# A site of very long pages is answered from their beginnings.
MOST_PASSAGES = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """``sentence`` as it stands on the page; ``order`` counts within the page, from 0."""

    sentence: str
    page: str
    heading: str
    order: int
    is_heading: bool = False


def passages(facts: Facts) -> list[Passage]:
    """Each sentence once, from the page that has it first: what stands on every page says nothing about one of them."""
    seen: set[str] = set()
    kept: list[Passage] = []
    for passage in (*_of_pages(facts), *_of_facts(facts)):
        key = " ".join(folded(passage.sentence).split())
        if key in seen or len(kept) >= MOST_PASSAGES:
            continue
        seen.add(key)
        kept.append(passage)
    return kept


def _of_pages(facts: Facts) -> Iterator[Passage]:
    for page in facts.pages:
        yield from _of_text(page)
    for page in facts.pages:
        for text in (page.description, page.title):
            for order, sentence in enumerate(sentences(text or "")):
                if len(sentence) >= _FEWEST_CHARACTERS:
                    yield Passage(sentence=sentence, page=page.url, heading="", order=order, is_heading=True)


def _of_text(page: PageFacts) -> Iterator[Passage]:
    """A line that equals a heading of the page stands over what follows, up to the next."""
    headings = {folded(heading.text).strip() for heading in page.headings}
    current = ""
    order = 0
    for line in page.text.splitlines():
        # Extracted text may mark headings the way Markdown does.
        label = line.strip().lstrip("#").strip()
        if folded(label) in headings:
            current = label
            if len(label) >= _FEWEST_CHARACTERS:
                yield Passage(sentence=label, page=page.url, heading="", order=order, is_heading=True)
            continue
        for sentence in sentences(line):
            if len(sentence) >= _FEWEST_CHARACTERS or any(sign.isdigit() for sign in sentence):
                yield Passage(sentence=sentence, page=page.url, heading=current, order=order)
                order += 1


def _of_facts(facts: Facts) -> Iterator[Passage]:
    """What stands outside the main text, such as in a footer or a list of prices: a visitor sees it too."""
    for offer in facts.offers:
        if offer.place.quote and len(offer.place.quote) >= _FEWEST_CHARACTERS:
            yield Passage(sentence=offer.place.quote, page=offer.place.page, heading=offer.text, order=0)
    contacts = facts.contacts
    lines = (
        *((text, "Address") for text in contacts.addresses),
        *((text, "Contact") for text in (*contacts.phones, *contacts.emails)),
    )
    for text, label in lines:
        yield Passage(sentence=text, page=facts.url, heading=f"{label} {facts.name or ''}".strip(), order=0)
