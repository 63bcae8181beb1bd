"""Which encoding a text file has, from its first bytes."""

import codecs
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from charset_normalizer import from_bytes

from penstock.console.files import latin
from penstock.console.files.refused import FileRefused

_MARKS = (
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
    for mark, name in _MARKS:
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
    reading = latin.latin_reading(sample)
    if reading is not None and reading.plausible:
        return Guess(encoding=reading.encoding, rival=_rival(words, reading.encoding, reading.rivals))
    matches = from_bytes(sample, cp_isolation=_LIKELY, threshold=0.3)
    names = [codecs.lookup(match.encoding).name for match in matches]
    if not names:
        raise FileRefused("the encoding of the file could not be found out.", _SAVE)
    if reading is not None and names[0] in latin.ENCODINGS:
        others = [name for name in names if name not in latin.ENCODINGS]
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
