"""Where the words of a query are in a text: the marks of a passage, and the passage that has most of them. Pure."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import merge

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
