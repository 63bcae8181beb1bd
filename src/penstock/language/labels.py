"""Words that stand on every website and say nothing of its subject: what parts of a site are called."""

import re
from collections.abc import Iterator
from functools import cache

from penstock.language.lists import phrases
from penstock.language.words import folded

_WORD = re.compile(r"[^\W\d_]+")


def is_label(text: str) -> bool:
    """Whether a text only names a part of a site, such as "Contact" or "Telephone: 555 0142"."""
    return _plain(text) in _known("site_labels")


def is_section(text: str) -> bool:
    """Whether a text names what many sites have a part for, such as "Prices": a subject of the page, but nothing that
    one would look for by this word alone."""
    return _plain(text) in _known("site_sections")


def asks(text: str) -> bool:
    """Whether a text begins as a question or an instruction does: it tells of a subject and does not name it."""
    return any(beginning in _known("question_beginnings") for beginning in _beginnings(text))


def _beginnings(text: str) -> Iterator[str]:
    found = _WORD.findall(folded(text))
    # One word alone is a name: "Why" may be what a business calls itself.
    return (" ".join(found[:count]) for count in range(1, min(3, len(found) - 1) + 1))


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(folded(text)))


@cache
def _known(name: str) -> frozenset[str]:
    return frozenset(map(_plain, phrases(name)))
