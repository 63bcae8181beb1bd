"""Whether a text names the business: by its name in any of its forms, with small slips of typing, or by its domain."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.language.lists import listed
from penstock.language.words import folded

_TOKEN = re.compile(r"[^\W_]+")
_SHORTEST_NAME = 3
# Letters that may differ, by the length of the name without spaces: short names have near neighbours.
_SLIPS = ((16, 2), (8, 1))
_LEGAL_FORMS = listed("legal_forms")


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
        spans = self._by_name(text) + self._by_domain(text)
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

    def _by_domain(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in self._domain.finditer(text)] if self._domain else []

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
