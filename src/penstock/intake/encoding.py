"""Which encoding a text file has, from its first bytes."""

import codecs
import io

from charset_normalizer import from_bytes

from penstock.intake.refused import FileRefused

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
    "mac_roman",
    "shift_jis",
    "euc_kr",
    "gb18030",
    "big5",
]
# Text encodings to Python, but of names and of source code; no file is written in one.
_NOT_OF_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
_SAVE = "Save it as UTF-8, or say which encoding it has."


def encoding_of(head: bytes, given: str | None = None) -> str:
    """``head``: the first bytes, which may end inside a character."""
    if given is not None:
        return _known(given)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if is_utf8(head):
        return "utf-8"
    if b"\0" in head:
        raise FileRefused("the file holds NUL bytes, so it is not text.", _SAVE)
    found = from_bytes(head, cp_isolation=_LIKELY, threshold=0.3).best()
    if found is None:
        raise FileRefused("the encoding of the file could not be found out.", _SAVE)
    return found.encoding


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
