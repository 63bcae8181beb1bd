"""Where the business is and works: towns of addresses, areas served, and "in <town>" in titles and headings."""

import re
from collections.abc import Iterator, Sequence

from penstock.apps.website_analysis.extract.json_ld import Item, nested, words
from penstock.apps.website_analysis.extract.wording import squeezed, unique

MOST_PLACES = 20
_IN = re.compile(
    r"\b(?:in|aus|bei|near|à|en|em|a|bij|w|в)\s+"
    r"([A-ZÀ-ÝА-ЯİŞÇ][\wÀ-ÿ'’-]{2,30}(?:\s(?:am|an der|sur|upon|de|del|do)\s[A-ZÀ-Ý][\wÀ-ÿ'’-]{2,30})?)"
)
_TOWN = re.compile(r"\b(?:[A-Z]{1,2}-)?\d{2}[\d -]{2,5}\s(?:[A-Z]{2}\s)?([A-ZÀ-Ý][\wÀ-ÿ'’-]{2,30})")


def places(items: Sequence[Item], sayings: Sequence[str], addresses: Sequence[str]) -> tuple[str, ...]:
    """``sayings``: title, description and headings; in running text "in" begins too many other things."""
    return unique((*_said(items), *_towns(addresses), *_named(sayings)), MOST_PLACES)


def _said(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        for one in nested(item):
            if town := words(one.get("addressLocality")):
                yield town
            area = one.get("areaServed")
            for place in area if isinstance(area, list) else [area]:
                if text := words(place):
                    yield squeezed(text, 60)


def _towns(addresses: Sequence[str]) -> Iterator[str]:
    for address in addresses:
        if found := _TOWN.search(address):
            yield found[1]


def _named(sayings: Sequence[str]) -> Iterator[str]:
    for text in sayings:
        for found in _IN.finditer(text[:500]):
            yield found[1]
