"""How near what was extracted comes to what is expected, per field, between 0 and 1."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.extensions.sites.findings import SiteFacts

FIELDS = (
    "title",
    "description",
    "language",
    "canonical",
    "text",
    "name",
    "headings",
    "contacts",
    "offers",
    "prices",
    "topics",
)
# Words; of scripts without spaces, characters.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def marks(expected: Mapping[str, Any], facts: SiteFacts) -> dict[str, float | None]:
    page = facts.pages[0]
    offers = {_plain(one["text"]): one["price"] for one in expected["offers"]}
    found = {_plain(one.text): one.price for one in facts.offers}
    return {
        "title": _same(expected["title"], facts.title),
        "description": _same(expected["description"], facts.description),
        "language": _same(expected["language"], facts.language),
        "canonical": float(expected["canonical"] == facts.canonical),
        "text": overlap(expected["text"], page.text),
        "name": _same(expected["name"], facts.name),
        "headings": _f1([_plain(one) for one in expected["headings"]], [_plain(one.text) for one in page.headings]),
        "contacts": _contacts(expected, facts),
        "offers": _f1(list(offers), list(found)),
        "prices": _share(_digits(price) == _digits(found.get(name)) for name, price in offers.items() if price),
        "topics": _share(_is_named(topic, facts) for topic in expected["topics"]),
    }


def overlap(expected: str, found: str) -> float:
    """F1 of the words, each as often as it stands there. Of a page without text: none was found."""
    wanted, got = Counter(_TOKEN.findall(expected.casefold())), Counter(_TOKEN.findall(found.casefold()))
    if not wanted:
        return float(sum(got.values()) <= 3)
    common = sum((wanted & got).values())
    return 2 * common / (sum(wanted.values()) + sum(got.values()))


def _contacts(expected: Mapping[str, Any], facts: SiteFacts) -> float | None:
    wanted = [*expected["emails"], *(_digits(one)[-7:] for one in expected["phones"])]
    found = [*facts.contacts.emails, *(_digits(one)[-7:] for one in facts.contacts.phones)]
    return _f1(wanted, found) if wanted or found else None


def _is_named(topic: str, facts: SiteFacts) -> bool:
    """Among the twenty best, in other words around it or in the plural, too."""
    wanted = _plain(topic)
    return any(wanted in _plain(one.text) or _plain(one.text) in wanted for one in facts.topics[:20])


def _same(expected: str | None, found: str | None) -> float:
    return float(_plain(expected or "") == _plain(found or ""))


def _f1(expected: Sequence[str], found: Sequence[str]) -> float | None:
    if not expected:
        return None if not found else 0.0
    common = sum((Counter(expected) & Counter(found)).values())
    return 2 * common / (len(expected) + len(found))


def _share(hits: Iterable[bool]) -> float | None:
    known = list(hits)
    return sum(known) / len(known) if known else None


def _digits(text: str | None) -> str:
    return "".join(filter(str.isdigit, text or ""))


def _plain(text: str) -> str:
    return " ".join(_TOKEN.findall(text.casefold()))
