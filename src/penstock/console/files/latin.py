"""Code pages of text in Latin letters, told apart by the letters of the languages that are written in them.

Nearly every byte is a character in every code page: ``Père`` in Windows-1252 is ``Pčre`` in Windows-1250. The likeliest
reading wins: its letters are frequent in one language of its code page, and they stand where letters stand.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Letters beside a to z, the frequent ones first. The last entry of a group is for lists of names from many countries.
_WESTERN = (
    "éèàêçôâûîœùëïæüÿ",  # French
    "üäößé",  # German
    "íóáéñúü",  # Spanish
    "èàùòìéîó",  # Italian
    "ãçéáíóêõúàâôü",  # Portuguese
    "éàíóèçòúïüñ",  # Catalan
    "ëéïöèüóê",  # Dutch
    "äåöéüà",  # Swedish
    "äöåéüšž",  # Finnish
    "øåæéöüòôäó",  # Danish, Norwegian
    "áíðéóþúöýæ",  # Icelandic
    "éöüäáíóèøåñçæãôëïúêàâîßõšýžòùûìðþœÿ",
)
_CENTRAL = (
    "łóężąśćńźéü",  # Polish
    "íáéěýřčžšůúňťďóöü",  # Czech
    "áíéčžýšúľťôňäóďŕĺöü",  # Slovak
    "áéőöíóüúűä",  # Hungarian
    "čšžćđ",  # Slovene, Croatian
    "áéíóčšöüłžęýřůćńąěőśżźúňťđűľďôşăţîâ",
)
_TURKISH = ("ıüşçöğâîûé",)


@dataclass(frozen=True, slots=True)
class _CodePage:
    """``rarity``: the bits of evidence it needs over Windows-1252, in which most such files are written."""

    encoding: str
    rarity: float
    languages: Sequence[str]


_CODE_PAGES = (
    _CodePage("cp1252", 0, _WESTERN),
    _CodePage("cp1250", 2, _CENTRAL),
    _CodePage("cp1254", 4, _TURKISH),
    _CodePage("iso8859-15", 4, _WESTERN),
    _CodePage("iso8859-2", 4, _CENTRAL),
    _CodePage("mac-roman", 8, _WESTERN),
)
ENCODINGS = frozenset(page.encoding for page in _CODE_PAGES)

# Bits of surprise: how unlikely a character is where it stands.
_FOREIGN_LETTER = 9.0
_CAPITAL = 2.0
_MARK = 1.0
_OTHER_SIGN = 10.0
_OUT_OF_PLACE = 6.0
_CROWDED = 3.0
_MARKS = frozenset("\u00a0«»‹›“”„‘’‚–—…•·°®©™€£¥¢§¡¿ªº½¼¾×÷±µ\u00ad´¹²³")
_OPENING = frozenset("«‹“„‘‚¿¡")
_CLOSING = frozenset("»›”’…®™")
# Beside a letter they are letters of another code page.
_BESIDE_NUMBERS = frozenset("±¼¾¥¢÷¹µ")
_WITHIN_WORDS = frozenset("’‘–—·\u00ad\u00a0´")

# Latin text stays below 5 bits a character in its own code page, text in other scripts above it.
_MOST_BITS_A_CHARACTER = 5.0
_DOUBT_BITS = 8.0
_MOST_WORDS = 2000
_WORD = re.compile(rb"[A-Za-z\x80-\xff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatinReading:
    """``plausible``: it reads like text in Latin letters; bytes of another script have a best reading, too.

    ``rivals``: encodings that fit nearly as well, and give another text.
    """

    encoding: str
    plausible: bool
    rivals: Sequence[str]


def latin_reading(sample: bytes) -> LatinReading | None:
    """None where no code page has a character for every byte."""
    words = b"\n".join(_words(sample))
    readings = sorted(_readings(words))
    if not readings:
        return None
    bits, encoding, text = readings[0]
    return LatinReading(
        encoding=encoding,
        plausible=bits <= _MOST_BITS_A_CHARACTER * sum(byte > 0x7F for byte in words),
        rivals=[name for other, name, differs in readings if other < bits + _DOUBT_BITS and differs != text],
    )


def _words(sample: bytes) -> list[bytes]:
    """Those beyond ASCII with their neighbours, each once: a name that every row repeats is no more evidence."""
    found: dict[bytes, None] = {}
    for word in _WORD.finditer(sample):
        if not word[0].isascii():
            found[sample[max(0, word.start() - 1) : word.end() + 1]] = None
            if len(found) == _MOST_WORDS:
                break
    return list(found)


def _readings(words: bytes) -> Iterator[tuple[float, str, str]]:
    """Bits of surprise, encoding and text."""
    for page in _CODE_PAGES:
        try:
            text = words.decode(page.encoding)
        except UnicodeDecodeError:
            continue
        yield page.rarity + _bits(text, page.languages), page.encoding, text


def _bits(text: str, languages: Sequence[str]) -> float:
    """In the language that fits best."""
    letters: Counter[str] = Counter()
    bits = 0.0
    for at, character in enumerate(text):
        if character <= "\x7f":
            continue
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if character.isalpha() and character not in _MARKS:
            letters[character.lower()] += 1
            bits += _bits_of_case(character, before)
        else:
            bits += _bits_of_sign(character, before, after)
        if before > "\x7f" and after > "\x7f":
            bits += _CROWDED  # most characters of Latin text are ASCII
    return bits + min(_bits_of_letters(letters, language) for language in languages)


def _bits_of_letters(letters: Counter[str], language: str) -> float:
    """By Zipf's law: the second letter is half as frequent as the first, the third a third as frequent."""
    whole = sum(1 / rank for rank in range(1, len(language) + 1))
    bits = 0.0
    for letter, count in letters.items():
        rank = language.find(letter) + 1
        bits += count * (math.log2(rank * whole) if rank else _FOREIGN_LETTER)
    return bits


def _bits_of_case(letter: str, before: str) -> float:
    if not letter.isupper():
        return 0.0
    return _CAPITAL + (_OUT_OF_PLACE if before.islower() else 0.0)


def _bits_of_sign(sign: str, before: str, after: str) -> float:
    beside_letters = before.isalpha() or (after.isalpha() and sign != "µ")  # as in 10 µm
    likely = sign in _MARKS and not (sign in _BESIDE_NUMBERS and beside_letters)
    bits = _MARK if likely else _OTHER_SIGN
    if (sign in _OPENING and not after.strip()) or (sign in _CLOSING and not before.strip()):
        bits += _OUT_OF_PLACE
    if before.isalpha() and after.isalpha() and sign not in _WITHIN_WORDS:
        bits += _OUT_OF_PLACE
    return bits
