"""Who else is named in an answer: names in lists and in bold, and runs of capitalised words in the text.

A rule of thumb, and meant as one: it has no list of the world's businesses. What it finds in lists is found again in
the running text of other answers.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.extensions.sites.scoring.names import core
from penstock.language.lists import listed
from penstock.language.words import folded, telling

_ITEM = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)])[ \t]+(?P<item>\S.*)$", re.MULTILINE)
_BOLD = re.compile(r"(?:\*\*|__)(?P<bold>[^*_\n]{2,80}?)(?:\*\*|__)")
# What follows a name at the head of a list item.
_AFTER_NAME = re.compile(r"\s+[-–—]\s+|\s*[:(,;]\s*|\s*[.!?](?:\s|$)|\s+(?:is|are|ist|sind|est|sont|offers|has)\s")
_CAPITALISED = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’.-]*[\w'’]|[^\W\d_a-zß-öø-ÿ])"
_JOINED = r"(?:[ \t]+(?:(?:&|of|and|de|la|van|der|von|und|et|du)[ \t]+)?" + _CAPITALISED + ")"
_RUN = re.compile(rf"(?<![\w@/.]){_CAPITALISED}{_JOINED}+")
_CAMEL = re.compile(r"(?<![\w@/.])[A-Z][a-z]+[A-Z]\w+")
_IN_A_PLACE = re.compile(r"\b(?:in|at|near|around|from|bei|aus|nach|à|en)\s+$", re.IGNORECASE)
_MOST_WORDS = 6
_GENERIC = listed("generic_names")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """``key``: the same for all ways to write the name."""

    start: int
    name: str
    key: str


class Others:
    """Finds names that are not the business, not its places and not words of the question."""

    def __init__(self, own: Iterable[str], places: Iterable[str]) -> None:
        self._own = {"".join(core(name)) for name in own}
        self._places = {"".join(core(place)) for place in places}

    def find(
        self, text: str, *, prompt: str, own: Iterable[tuple[int, int]], known: Iterable[str] = ()
    ) -> list[Mention]:
        """In order, each name once. ``own``: where the business is named; ``known``: names from other answers."""
        spans = list(own)
        asked = folded(prompt)
        found: dict[str, Mention] = {}
        for start, name in sorted((*_candidates(text), *_again(text, known))):
            key = "".join(core(name))
            inside = any(first <= start < last or start <= first < start + len(name) for first, last in spans)
            if inside or key in found or not self._is_name(name, key) or folded(name) in asked:
                continue
            if not any(key != other and key in other for other in found):
                found[key] = Mention(start=start, name=name, key=key)
        return list(found.values())

    def _is_name(self, name: str, key: str) -> bool:
        words = name.split()
        if not 1 <= len(words) <= _MOST_WORDS or len(key) < 2 or key in self._own or key in self._places:
            return False
        if any(word[0].islower() and len(word) > 3 for word in words) or not any(sign.isalpha() for sign in name):
            return False
        return any(word not in _GENERIC for word in telling(name))


def _candidates(text: str) -> Iterator[tuple[int, str]]:
    for item in _ITEM.finditer(text):
        yield from _head(item)
    for bold in _BOLD.finditer(text):
        name = bold["bold"].strip().rstrip(":.")
        if name[:1].isupper():
            yield bold.start("bold"), name
    for pattern in (_RUN, _CAMEL):
        for run in pattern.finditer(text):
            if not _IN_A_PLACE.search(text, 0, run.start()):
                yield from _without_opening(run.start(), run[0])


def _head(item: re.Match[str]) -> Iterator[tuple[int, str]]:
    """The name at the head of a list item. An item in bold is found as bold."""
    text = item["item"]
    if text.startswith(("**", "__", "[")):
        text = text.lstrip("*_[")
        start = item.end("item") - len(text)
        name = re.split(r"\*\*|__|\]", text, maxsplit=1)[0].strip().rstrip(":.")
    else:
        start = item.start("item")
        name = _AFTER_NAME.split(text, maxsplit=1)[0].strip()
    if name[:1].isupper():
        yield start, name


def _without_opening(start: int, run: str) -> Iterator[tuple[int, str]]:
    """ "The Blue Fox" is named "Blue Fox"; "If Blue" is nobody."""
    words = run.split()
    while words and (not telling(words[0]) or folded(words[0]) in _GENERIC):
        start += run.index(words[0]) + len(words[0]) + 1
        run = run[run.index(words[0]) + len(words[0]) :].lstrip()
        words = words[1:]
    if len(words) > 1 or (words and _CAMEL.fullmatch(words[0])):
        yield start, run.rstrip(".'’")


def _again(text: str, known: Iterable[str]) -> Iterator[tuple[int, str]]:
    for name in known:
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if found is not None:
            yield found.start(), name
