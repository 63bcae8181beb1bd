"""What a page is about: what its headings, title, menu and structured data name, weighed by where they name it."""

import re
from collections.abc import Sequence

from penstock.extensions.sites.extract.element import Element
from penstock.extensions.sites.extract.json_ld import Item, nested, types, words
from penstock.extensions.sites.extract.wording import folded, squeezed
from penstock.extensions.sites.facts import FoundAt, ReadHeading, SiteTopic
from penstock.language.labels import asks, is_label

MOST_TOPICS = 40
_MOST_TEXT = 80
_LEVEL_WEIGHTS = {1: 3.0, 2: 2.0, 3: 1.2, 4: 0.6}
_SEPARATORS = re.compile(r"\s+[|·•–—»-]\s+|[|｜]|:\s")
_THINGS = frozenset({"Service", "Product", "Course", "Event", "Recipe", "MenuSection", "SoftwareApplication"})
_TAG = re.compile(r"/tags?/[^/]+/?\Z")
_LISTED = re.compile(r"[,;:.]\s+|\s(?:and|und|et|y|e|en|i|ve|и|oder|or|&)\s|、|，|。")
_QUESTION = re.compile(r"[?？]\s*\Z")


def topics(
    page: Element,
    *,
    headings: Sequence[ReadHeading],
    title: str | None,
    meta: dict[str, str],
    items: Sequence[Item],
    url: str,
) -> tuple[SiteTopic, ...]:
    found: dict[str, SiteTopic] = {}

    def add(text: str, weight: float, quote: str) -> None:
        text = squeezed(text.strip(" .:–—-"), _MOST_TEXT)
        key = folded(text)
        if len(text) < 2 or not key or len(key.split()) > 9 or _says_nothing(text):
            return
        before = found[key] if key in found else SiteTopic(text=text, weight=0.0, place=FoundAt(page=url, quote=quote))
        found[key] = SiteTopic(text=before.text, weight=round(before.weight + weight, 3), place=before.place)

    for heading in headings:
        add(heading.text, _LEVEL_WEIGHTS[heading.level], heading.text)
    for part in _SEPARATORS.split(title or ""):
        add(part or "", 1.5, squeezed(title, 200))
    for word in meta.get("keywords", "").split(",")[:12]:
        add(word, 0.8, squeezed(meta.get("keywords"), 200))
    for text in _tags(page, meta):
        add(text, 1.0, text)
    for text in _phrases(meta.get("description", "")):
        add(text, 0.5, squeezed(meta["description"], 200))
    for one in nested(items):
        if _THINGS.intersection(types(one)):
            add(words(one.get("name")), 2.0, words(one.get("name")))
    for text in _menu(page):
        add(text, 0.7, text)
    ordered = sorted(found.values(), key=lambda one: (-one.weight, one.text))
    return tuple(ordered[:MOST_TOPICS])


def _says_nothing(text: str) -> bool:
    """What stands on every site is what none of them is about; nor does anybody look for a question."""
    return is_label(text) or asks(text) or _QUESTION.search(text) is not None


def _tags(page: Element, meta: dict[str, str]) -> list[str]:
    """What the author filed it under."""
    linked = (
        one
        for one in page.find("a")
        if "tag" in one.attributes.get("rel", "") or _TAG.search(one.attributes.get("href", ""))
    )
    return [*meta.get("article:tag", "").split(","), *(one.text(60) for one in linked)][:12]


def _phrases(description: str) -> list[str]:
    """The short ones between commas: many descriptions list what there is."""
    found = (one.strip() for one in _LISTED.split(description))
    return [one for one in found if 1 <= len(one.split()) <= 3 and len(one) > 3][:8]


def _menu(page: Element) -> list[str]:
    """Words of links to further pages of short lists; a mega menu says everything and so nothing."""
    links = []
    for box in page.walk():
        if box.tag == "nav" or re.search(r"\bnav|menu", box.named):
            links = [one.text(60) for one in box.find("a") if one.letters]
            if links:
                break
    return list(dict.fromkeys(links))[:12] if len(links) <= 25 else []
