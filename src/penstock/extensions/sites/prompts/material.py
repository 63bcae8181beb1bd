"""What the gaps of templates are filled with: facts of a site as phrases, each with the page it stands on.

Facts are text from strangers: what they wrote may fill a gap, and nothing more. One phrase on one line, without control
or invisible characters, without signs that could end the question or begin another one, and short. What is left of it
is None where nobody would ask for it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from penstock.extensions.sites.findings import SiteFacts
from penstock.language.labels import asks, is_label, is_section

LONGEST = 80
_MOST_WORDS = 12
_FEWEST_LETTERS = 2
# A full stop behind a short word is likely an abbreviation: "St. Gallen".
_SENTENCE_END = re.compile(r"[?!;…。！？؟]|(?<=\w{4})\.(?=\s|$)")
_SIGNS = re.compile(r"[{}<>\[\]`\"“”„«»|\\^~*_#=$]+")
_EDGES = " .,:;-–—/&+'’()·•"
_ADDRESS = re.compile(r"://|www\.|\S@\S", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Words that stand between a thing and the name of who makes it; alone at an end they say nothing.
_BETWEEN = frozenset(
    _WORD.findall(
        "by from at of in near with and bei von mit und chez de du par et da di del por con y van bij en od w z i"
    )
)
_INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+|(?<=, )[^\W\d_]+")
_ANY = re.compile(r"[^\W\d_]+")
# Here every noun has a capital, so that only what the site writes small may become small.
_NOUNS_WITH_CAPITALS = "de"
_MOST_TEXT = 200_000
_MOST = 60  # facts of one sort; the best come first
_TITLE_SEPARATORS = ("|", " - ", " – ", " — ", " · ", "»", ":")


def one_line(text: str, longest: int = 300) -> str:
    """As it stands on the page, without what cannot be seen."""
    kept = (" " if unicodedata.category(one)[0] == "Z" or one in "\t\n\r\v\f" else one for one in text[: longest * 8])
    seen = "".join(one for one in kept if unicodedata.category(one)[0] != "C")
    return cut(" ".join(unicodedata.normalize("NFC", seen).split()), longest)


def cut(text: str, longest: int) -> str:
    """At a word, where there is one."""
    if len(text) <= longest:
        return text
    head = text[: longest + 1]
    return (head.rpartition(" ")[0] or head[:longest]).rstrip()


def phrase(text: str) -> str | None:
    """What may stand in a question, or None."""
    line = one_line(text)
    if _ADDRESS.search(line):
        return None
    first = next((part for part in _SENTENCE_END.split(line) if part.strip()), "")
    words = _SIGNS.sub(" ", first).split()[:_MOST_WORDS]
    left = cut(" ".join(words).strip(_EDGES), LONGEST).strip(_EDGES)
    return left if sum(one.isalpha() for one in left) >= _FEWEST_LETTERS else None


def fold(text: str) -> str:
    """Spellings of the same words are one: without case, accents, punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(one for one in plain if not unicodedata.combining(one))))


def names_it(text: str, name: str) -> bool:
    """Whether a text speaks of the business by its name, also where it is written as one word."""
    folded, wanted = fold(text), fold(name)
    if not wanted:
        return False
    if f" {wanted} " in f" {folded} ":
        return True
    joined = wanted.replace(" ", "")
    # Short words occur inside other ones; scripts without spaces have no other way to be found.
    return (len(joined) >= 6 or not joined.isascii()) and joined in folded.replace(" ", "")


def without(text: str, name: str) -> str | None:
    """The phrase without the name of the business: what somebody would ask for who does not know it."""
    words = _WORD.findall(name)
    if not words:
        return phrase(text)
    pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?:['’]s)?(?!\w)"
    parts = re.sub(pattern, " ", one_line(text), flags=re.IGNORECASE).split()
    while parts and (fold(parts[-1]) or "by") in _BETWEEN:
        parts.pop()
    while parts and (fold(parts[0]) or "by") in _BETWEEN:
        parts.pop(0)
    left = phrase(" ".join(parts))
    return None if left is None or names_it(left, name) else left


_ARTICLES = frozenset(
    fold("a an the ein eine einen der die das den un une le la les el los las il lo gli uno una een het um uma").split(
        " "
    )
)


def _with_small_article(text: str) -> str:
    """A heading begins with a capital; inside a question its article does not."""
    first, space, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if space and first.lower() in _ARTICLES else text


def _without_article(folded: str) -> str:
    first, space, rest = folded.partition(" ")
    return rest if space and first in _ARTICLES else folded


class _Casing:
    """How the words of one site are written within its sentences.

    Whether a word is a name is read off the site itself: a name has its capital everywhere, any other word only where a
    sentence or a heading begins.
    """

    def __init__(self, facts: SiteFacts) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """``text`` goes into the question; ``fact`` is what stands on the page."""

    text: str
    fact: str
    page: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    name: Piece
    topics: tuple[Piece, ...]
    offers: tuple[Piece, ...]
    places: tuple[Piece, ...]

    def of(self, variable: str) -> tuple[Piece, ...]:
        known = {"topic": self.topics, "offer": self.offers, "place": self.places, "category": self.topics[:1]}
        if variable == "other":  # the next offer; with one alone there is nothing to compare
            return self.offers[1:] + self.offers[:1] if len(self.offers) > 1 else ()
        return known.get(variable, (self.name,))

    def gives_away(self, text: str) -> bool:
        """Whether a question holds the name of the business, and so would measure nothing."""
        return names_it(text, self.name.text) or names_it(text, self.name.fact)


def gathered(facts: SiteFacts) -> Material:
    name = _name(facts)
    topics = [(one.text, one.place.page) for one in facts.topics] or _from_title(facts)
    places = _pieces([(place, _page_with(facts, place)) for place in facts.places], [name.text])
    # Neither the name, which would answer the question, nor the place, which questions about places add.
    left_out = [name.text, *(place.text for place in places)]
    casing = _Casing(facts)
    return Material(
        name=name,
        topics=_written(_telling(_pieces(topics, left_out)), casing),
        offers=_written(_pieces([(one.text, one.place.page) for one in facts.offers], left_out), casing),
        places=places,
    )


def _telling(topics: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Without the single words that a longer topic holds: whoever needs bicycle repairs does not ask for repairs."""
    longer = {word for one in topics if " " in one.text for word in fold(one.text).split()}
    return tuple(one for one in topics if " " in one.text or fold(one.text) not in longer)


def _written(pieces: Iterable[Piece], casing: _Casing) -> tuple[Piece, ...]:
    return tuple(replace(one, text=casing.inside(one.text)) for one in pieces)


def _name(facts: SiteFacts) -> Piece:
    """A site that does not say who runs it is called by its address."""
    if facts.name and (found := phrase(facts.name)):
        return Piece(text=found, fact=one_line(facts.name), page=facts.url)
    try:
        host = (urlsplit(facts.url).hostname or "").removeprefix("www.")
    except ValueError:
        host = ""
    shown = one_line(host, 80) or "this website"
    return Piece(text=shown, fact=shown, page=facts.url)


def _pieces(given: Iterable[tuple[str, str | None]], left_out: Sequence[str]) -> tuple[Piece, ...]:
    found: dict[str, Piece] = {}
    for text, page in given:
        left = _left(text, left_out)
        # Nobody asks for labels of menus by themselves, nor for questions that stand on the page.
        if left is None or is_label(left) or is_section(left) or asks(left):
            continue
        key = _without_article(fold(left))
        if key and key not in found:
            found[key] = Piece(text=_with_small_article(left), fact=one_line(text), page=page)
        if len(found) == _MOST:
            break
    return tuple(found.values())


def _left(text: str, left_out: Sequence[str]) -> str | None:
    left: str | None = text
    for one in left_out:
        left = None if left is None else without(left, one)
    return left


def _from_title(facts: SiteFacts) -> list[tuple[str, str]]:
    """The title says what a site is about where nothing else does."""
    parts = [facts.title or ""]
    for separator in _TITLE_SEPARATORS:
        parts = [piece for part in parts for piece in part.split(separator)]
    return [(part, facts.url) for part in parts if part.strip()][:3]


def _page_with(facts: SiteFacts, place: str) -> str | None:
    """The first page that holds the words; the start page where they are only in data."""
    return next((page.url for page in facts.pages if place and place in page.text), facts.url)
