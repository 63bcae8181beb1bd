"""The capital at the beginning of a heading, which does not belong into the middle of a question.

Whether a word is a name is read off the site itself: a name has its capital everywhere, any other word only where a
sentence or a heading begins.
"""

import re
from collections.abc import Iterable

from penstock.apps.website_analysis.facts import Facts

_INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+|(?<=, )[^\W\d_]+")
_ANY = re.compile(r"[^\W\d_]+")
# Here every noun has a capital, so that only what the site writes small may become small.
_NOUNS_WITH_CAPITALS = "de"
_MOST_TEXT = 200_000


class Casing:
    """How the words of one site are written within its sentences."""

    def __init__(self, facts: Facts) -> None:
        text = "\n".join((facts.description or "", *(page.text for page in facts.pages)))[:_MOST_TEXT]
        self._small = frozenset(word for word in _ANY.findall(text) if word.islower())
        inside = (word for word in _INSIDE.findall(text) if word[0].isupper())
        self._names = frozenset((*inside, *_words(facts.places), *_words([facts.name or ""])))
        self._careful = (facts.language or "").partition("-")[0] == _NOUNS_WITH_CAPITALS

    def inside(self, text: str) -> str:
        """As it is written within a sentence."""
        found = _ANY.match(text)
        if found is None or not (word := found[0])[1:].islower():
            return text
        small = word.lower()
        if small in self._small or self._is_plain(word, text[found.end() :]):
            return small + text[found.end() :]
        return text

    def _is_plain(self, word: str, rest: str) -> bool:
        """A phrase whose other words are small is written like a sentence, so its first word is likely no name."""
        return not self._careful and word not in self._names and bool(rest.strip()) and rest == rest.lower()


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in _ANY.findall(text)]
