"""Whether a text names the business (in any form of its name, with small slips of typing, or by its domain), and who
else is named in it: names in lists and in bold, and runs of capitalised words in the text.

The latter is a rule of thumb, and meant as one: it has no list of the world's businesses. What it finds in lists is
found again in the running text of other answers.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.language.lists import listed
from penstock.language.words import folded, telling

_TOKEN = re.compile(r"[^\W_]+")
_SHORTEST_NAME = 3
# Letters that may differ, by the length of the name without spaces: short names have near neighbours.
_SLIPS = ((16, 2), (8, 1))
_LEGAL_FORMS = listed("legal_forms")
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


@dataclass(frozen=True, slots=True)
class Token:
    text: str  # folded
    start: int
    end: int
    capital: bool


def tokens(text: str) -> list[Token]:
    """Folded words with where they stand. A possessive s is no part of a name."""
    return [
        Token(folded(found[0]), found.start(), found.end(), not found[0][0].islower())
        for found in _TOKEN.finditer(text)
        if not (found[0] == "s" and found.start() and text[found.start() - 1] in "'’")
    ]


def core(name: str) -> tuple[str, ...]:
    """The words of a name without article and legal form, folded: "The Miller & Co. Ltd" is "miller"."""
    words = [token.text for token in tokens(_joined_forms(name))]
    while len(words) > 1 and words[-1] in _LEGAL_FORMS:
        words.pop()
    if len(words) > 1 and words[0] in ("the", "die", "der", "das", "le", "la", "les", "el", "il"):
        words = words[1:]
    return tuple(words)


class Business:
    """The business of a site. Without a name only its domain can be found."""

    def __init__(self, name: str | None, url: str) -> None:
        self._core = core(name or "")
        host = (urlsplit(url).hostname or "").removeprefix("www.")
        labels = host.split(".")
        # An address such as 127.0.0.1 is no domain.
        is_domain = len(labels) > 1 and not labels[-1].isdigit()
        self._domain = re.compile(rf"(?<![\w-]){re.escape(host)}(?![\w-])", re.IGNORECASE) if is_domain else None
        written = "".join(self._core)
        self._written = written if len(written) >= _SHORTEST_NAME else ""
        # "anchor" is a word, "Anchor" may be the business.
        self._capital = len(self._core) == 1 and not (name or "").strip()[:1].islower()
        self._slips = next((slips for length, slips in _SLIPS if len(written) >= length), 0)

    def find(self, text: str) -> list[tuple[int, int]]:
        """Where the text names it: (start, end), in order, without overlap."""
        spans = self._by_name(text)
        spans += [found.span() for found in self._domain.finditer(text)] if self._domain else []
        kept: list[tuple[int, int]] = []
        for span in sorted(spans):
            if not kept or span[0] >= kept[-1][1]:
                kept.append(span)
        return kept

    def named_in(self, text: str) -> bool:
        return bool(self.find(text))

    def _by_name(self, text: str) -> list[tuple[int, int]]:
        if not self._written:
            return []
        found = tokens(_joined_forms(text))
        # One word more or less than the name has: "Blue River" is also written "BlueRiver".
        sizes = {size for size in (len(self._core), len(self._core) - 1, len(self._core) + 1) if size > 0}
        spans: list[tuple[int, int]] = []
        for start in range(len(found)):
            if found[start].text[:1] != self._written[0]:
                continue  # slips of typing are not at the first letter
            for size in sorted(sizes, key=lambda size: (size != len(self._core), size)):
                window = found[start : start + size]
                written = "".join(one.text for one in window)
                if len(window) == size and (window[0].capital or not self._capital) and self._is_it(written):
                    spans.append((window[0].start, window[-1].end))
                    break
        return spans

    def _is_it(self, written: str) -> bool:
        if written == self._written:
            return True
        if not self._slips or _digits(written) != _digits(self._written):
            return False
        return within(written, self._written, self._slips)


def within(one: str, other: str, most: int) -> bool:
    """Whether at most so many letters were added, left out, changed or swapped with their neighbour."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for number, sign in enumerate(one, 1):
        before, last, row = row, before, [number]
        for column, other_sign in enumerate(other, 1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (sign != other_sign))
            if last and column > 1 and sign == other[column - 2] and one[number - 2] == other_sign:
                cost = min(cost, last[column - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return False
    return row[-1] <= most


def _digits(text: str) -> str:
    return "".join(sign for sign in text if sign.isdigit())


def _joined_forms(text: str) -> str:
    """Legal forms with points become one word of the same length: "S.A." is no initials."""
    return re.sub(r"\b(?:\w\.){2,}", lambda found: found[0].replace(".", "") + " " * found[0].count("."), text)


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
