"""Which encoding a text file has, from its first bytes."""

import codecs
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from charset_normalizer import from_bytes

from penstock.console.files.refused import FileRefused

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What spreadsheets write. A guess from a wider list would find a language for any bytes.
_LIKELY = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "iso8859_15",
    "iso8859_2",
    "mac_roman",
    "shift_jis",
    "euc_kr",
    "gb18030",
    "big5",
]
# Text encodings to Python, but of names and of source code; no file is written in one.
_NOT_OF_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
# Second bytes of characters begin here; space, comma and line feed are below.
_WORD_BYTES = bytes(range(0x30, 0x100))
_WORD = re.compile(rb"[\x30-\xff]+")
# Of a script that is not Latin: fewer are mistaken for another script now and then.
_ENOUGH_BYTES = 32
_SAVE = "Save it as UTF-8, or say which encoding it has."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another encoding that the bytes may have: it reads ``word`` where the chosen one reads ``instead_of``."""

    encoding: str
    word: str
    instead_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """``rival``: there where the bytes hold too little to tell."""

    encoding: str
    rival: Rival | None = None


def encoding_of(head: bytes, given: str | None = None) -> str:
    """``head``: the first bytes, which may end inside a character."""
    return _known(given) if given is not None else guess_of(head).encoding


def guess_of(head: bytes) -> Guess:
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return Guess(encoding=name)
    if is_utf8(head):
        return Guess(encoding="utf-8")
    if b"\0" in head:
        raise FileRefused("the file holds NUL bytes, so it is not text.", _SAVE)
    if _is_damaged_utf8(head):
        return Guess(encoding="utf-8")
    return _guessed(_whole_words(head))


def _guessed(sample: bytes) -> Guess:
    words = [word for word in dict.fromkeys(_WORD.findall(sample)) if not word.isascii()]
    reading = latin_reading(sample)
    if reading is not None and reading.plausible:
        return Guess(encoding=reading.encoding, rival=_rival(words, reading.encoding, reading.rivals))
    matches = from_bytes(sample, cp_isolation=_LIKELY, threshold=0.3)
    names = [codecs.lookup(match.encoding).name for match in matches]
    if not names:
        raise FileRefused("the encoding of the file could not be found out.", _SAVE)
    if reading is not None and names[0] in LATIN_ENCODINGS:
        others = [name for name in names if name not in LATIN_ENCODINGS]
        return Guess(encoding=reading.encoding, rival=_rival(words, reading.encoding, [*others, *reading.rivals]))
    few = sum(byte > 0x7F for word in words for byte in word) < _ENOUGH_BYTES
    return Guess(encoding=names[0], rival=_rival(words, names[0], names[1:]) if few else None)


def _rival(words: Sequence[bytes], encoding: str, names: Sequence[str]) -> Rival | None:
    for name in names:
        for word in words:
            this, other = word.decode(encoding, errors="replace"), word.decode(name, errors="replace")
            if this != other:
                return Rival(encoding=name, word=other, instead_of=this)
    return None


def _whole_words(head: bytes) -> bytes:
    """Without the last word, whose last character may be cut, unless nothing but ASCII is left."""
    whole = head.rstrip(_WORD_BYTES)
    return head if whole.isascii() else whole


def _is_damaged_utf8(head: bytes) -> bool:
    """A few bytes of another encoding, as in a file that was put together from two. Strict reading names their rows."""
    text = head.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    return beyond_ascii - broken >= 2 * broken


def is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(head, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _known(name: str) -> str:
    """Python calls much an encoding that is none of text; zlib is one, and would unpack whatever was sent."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)  # refuses those
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        found = None
    if found is None or found in _NOT_OF_FILES:
        raise FileRefused(f"no encoding is called {name!r}.", "utf-8 and cp1252 are common ones.")
    return found


# -------------------------------------------------------------------- code pages of Latin letters

# Nearly every byte is a character in every code page: ``Père`` in Windows-1252 is ``Pčre`` in Windows-1250. The
# likeliest reading wins: its letters are frequent in one language of its code page, and they stand where letters stand.

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
LATIN_ENCODINGS = frozenset(page.encoding for page in _CODE_PAGES)

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
_LATIN_WORD = re.compile(rb"[A-Za-z\x80-\xff]+")


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
    for word in _LATIN_WORD.finditer(sample):
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
