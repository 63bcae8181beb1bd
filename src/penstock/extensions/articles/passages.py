"""The piece of an article that is shown with a hit, and the marks in it: where the words of a query are."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from penstock.extensions.articles import keyword
from penstock.extensions.articles.articles import Summary
from penstock.extensions.articles.fusion import Fused
from penstock.extensions.articles.keyword import Words
from penstock.extensions.articles.shared import WireRecord
from penstock.storage.queries import load

_sql = load("passages", "penstock.extensions.articles")
Connection = Any

# Characters that are read at once in search of the best window. Longer texts are read on, piece by piece, as long as
# no word of the query was there; pieces overlap, so that a word at an edge is whole in one of them.
_MOST_READ = 200_000
_OVERLAP = 500
# Articles of one page that are read on: a page may have a hundred, of a million characters each.
_MOST_READ_ON = 10
_WINDOW = 500
_MOST_SHOWN = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(WireRecord):
    """Characters of the passage, from 0; `to` is the first one behind the mark."""

    from_: Annotated[int, Field(alias="from")]
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage(WireRecord):
    """`starts`: where it stands in the content of `revision`, in characters."""

    text: str
    marks: list[Mark]
    starts: int
    revision: int


class _Place(NamedTuple):
    """``windowed``: the best piece of it is still to be chosen."""

    revision: int
    starts: int
    ends: int
    windowed: bool

    def following(self) -> "_Place":
        starts = self.ends - _OVERLAP
        return self._replace(starts=starts, ends=starts + _MOST_READ)


async def shown(
    connection: Connection, hits: Sequence[tuple[Summary, Fused]], words: Words | None, language: str
) -> dict[int, ShownPassage]:
    """By article. An article that is deleted meanwhile has an empty one."""
    places = {article.id: _place(article, fused) for article, fused in hits}
    lexemes = words.lexemes if words else ()
    texts = await cut(connection, places)
    await _read_on(connection, places, texts, lexemes)
    pieces = {}
    for article_id, place in places.items():
        text, starts = texts.get(article_id, ""), place.starts
        if place.windowed:
            first, last = window(text, lexemes, length=_WINDOW)
            text, starts = text[first:last], starts + first
        pieces[article_id] = (text[:_MOST_SHOWN], starts, place.revision)
    words_alike = likely((text for text, _, _ in pieces.values()), lexemes) if lexemes else set()
    same = await keyword.same_words(connection, language, sorted(words_alike), lexemes) if words_alike else set()
    return {
        article_id: ShownPassage(
            text=text,
            marks=[Mark(from_=start, to=end) for start, end in ranges(text, lexemes, same)],
            starts=starts,
            revision=revision,
        )
        for article_id, (text, starts, revision) in pieces.items()
    }


async def _read_on(
    connection: Connection, places: dict[int, _Place], texts: dict[int, str], lexemes: Sequence[str]
) -> None:
    """Moves the place of a long text to the first piece that has a word of the query; without one it stays."""
    ahead = {
        article_id: place
        for article_id, place in places.items()
        if place.windowed and lexemes and _may_go_on(texts.get(article_id, ""), lexemes)
    }
    ahead = dict(islice(ahead.items(), _MOST_READ_ON))
    while ahead:
        ahead = {article_id: place.following() for article_id, place in ahead.items()}
        pieces = await cut(connection, ahead)
        for article_id in list(ahead):
            piece = pieces.get(article_id, "")
            if not _may_go_on(piece, lexemes):
                place = ahead.pop(article_id)
                if has_any(piece, lexemes):
                    places[article_id], texts[article_id] = place, piece


def _may_go_on(text: str, lexemes: Sequence[str]) -> bool:
    return len(text) == _MOST_READ and not has_any(text, lexemes)


def _place(article: Summary, fused: Fused) -> _Place:
    """The passage that comes nearest, from the text that was embedded. The current text where only its words were
    found, where they are newer than the vectors, and where the vector is of the title alone."""
    near = fused.passage
    stale_and_worded = near is not None and near.revision < article.revision and fused.score.keyword is not None
    if near is None or stale_and_worded:
        return _Place(article.revision, 0, _MOST_READ, True)
    if near.ends <= near.starts:
        return _Place(near.revision, 0, _MOST_READ, True)
    return _Place(near.revision, near.starts, near.ends, False)


async def cut(connection: Connection, places: Mapping[int, _Place]) -> dict[int, str]:
    values = list(places.values())
    columns = ([getattr(place, name) for place in values] for name in ("revision", "starts", "ends"))
    rows = await connection.fetch(_sql.cut, list(places), *columns)
    return {row["article_id"]: row["text"] for row in rows}


# An accent may be a character of its own behind its letter.
_WORD = re.compile(r"\w[\w\u0300-\u036f]*")
# Stems differ from their words at the end only, and seldom within the first letters.
_SAME_START = 3
# Places of one word that are looked at: a text may have nothing else in it.
_MOST_PLACES = 500
_MOST_STEMS = 24
_SENTENCE_ENDS = (". ", "! ", "? ", "\n", ": ")
# How far a window may reach back for the start of its sentence.
_REACH = 120


def fold(word: str) -> str:
    """Without case and accents: ``Müller`` and ``muller`` are one."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


def likely(texts: Iterable[str], lexemes: Collection[str]) -> set[str]:
    """Words of the texts that may be one of the query's in another form: few enough to ask the server about them."""
    starts = {fold(lexeme)[:_SAME_START] for lexeme in lexemes}
    words = {word for text in texts for word in _WORD.findall(text)}
    return {word for word in words if fold(word)[:_SAME_START] in starts}


def ranges(text: str, lexemes: Collection[str], same: Collection[str] = ()) -> list[tuple[int, int]]:
    """Characters from and to (not included) of the query's words. ``same``: words known to be one of them; a word that
    equals a lexeme but for case and accents is one as well."""
    folded = {fold(lexeme) for lexeme in lexemes}
    return [match.span() for match in _WORD.finditer(text) if match.group() in same or fold(match.group()) in folded]


def has_any(text: str, lexemes: Sequence[str]) -> bool:
    """Whether a window of the text would hold a word of the query."""
    return next(_places(text, lexemes[:_MOST_STEMS]), None) is not None


def window(text: str, lexemes: Sequence[str], *, length: int) -> tuple[int, int]:
    """The piece of the text with most different words of the query, rarest first in ``lexemes``; the earliest of
    equals. The beginning where there are none."""
    places = list(_places(text, lexemes[:_MOST_STEMS]))
    best, best_start, first = 0.0, 0, 0
    held = [0] * min(len(lexemes), _MOST_STEMS)
    worth = 0.0
    for at, number in places:
        held[number] += 1
        worth += _worth(number) if held[number] == 1 else 0.0
        while at - places[first][0] > length * 2 // 3:
            gone = places[first][1]
            held[gone] -= 1
            worth -= _worth(gone) if held[gone] == 0 else 0.0
            first += 1
        if worth > best + 1e-9:
            best, best_start = worth, places[first][0]
    return _whole(text, best_start, length)


def _worth(number: int) -> float:
    return 1.0 / (1.0 + number / 4)


def _places(text: str, lexemes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(character, number of the lexeme), in the order of the text: words that begin like it, accents composed or
    not."""
    # The one letter that becomes longer when it is lowered would move all that follow.
    lowered = text.replace("\u0130", "I").lower()
    spelt = (
        (form, number)
        for number, lexeme in enumerate(lexemes)
        for form in {lexeme.lower(), unicodedata.normalize("NFD", lexeme.lower())}
    )
    return merge(*(_starts(lowered, form, number) for form, number in spelt))


def _starts(lowered: str, lexeme: str, number: int) -> Iterator[tuple[int, int]]:
    # A stem may have changed its last letter: categori, happi.
    stem = lexeme[:-1] if len(lexeme) > _SAME_START and lexeme.endswith("i") else lexeme
    at, found = lowered.find(stem), 0
    while at >= 0 and found < _MOST_PLACES:
        if at == 0 or not lowered[at - 1].isalnum():
            found += 1
            yield at, number
        at = lowered.find(stem, at + 1)


def _whole(text: str, at: int, length: int) -> tuple[int, int]:
    """From the start of the sentence, if that is near, to the end of a word."""
    start = max(at - _REACH, 0)
    ends = [place + len(end) for end in _SENTENCE_ENDS if (place := text.rfind(end, start, at)) >= 0]
    if ends:
        start = max(ends)
    elif start:
        start = text.find(" ", start, at) + 1 or at
    stop = min(start + length, len(text))
    if stop < len(text) and (space := text.rfind(" ", start + length // 2, stop)) > 0:
        stop = space
    return start, stop
