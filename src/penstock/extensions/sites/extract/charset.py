"""Which characters the bytes of a page are. What servers and pages say about it is often wrong, so it is checked."""

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEAD_BYTES = 4096
_SAMPLE_BYTES = 32 * 1024
_META = re.compile(rb"<meta[^<>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
# As browsers read them: the wider set under the name of the narrower one.
_AS_BROWSERS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# What browsers know, as Python calls it. It has many more, and some of them are no charsets of the web at all.
_OF_THE_WEB = frozenset(
    {"utf-8", "utf-8-sig", "ascii", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp874",
     "tis-620", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp", "shift_jis", "cp932",
     "euc_kr", "cp949"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in range(1, 17) if number != 12}
)  # fmt: skip
_NAMES = {
    "unicode": "utf-16-le",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "windows-31j": "cp932",
    "utf8mb4": "utf-8",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-euc-jp": "euc_jp",
}
_LIKELY = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", "cp932", "euc_jp", "euc_kr", "gb18030", "big5"]
# A page may hold a few broken characters; more say that the charset is another.
_MOST_BROKEN_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    text: str
    charset: str
    note: str | None = None


def decoded(body: bytes, content_type: str) -> Decoded:
    for mark, name in _MARKS:
        if body.startswith(mark):
            return Decoded(text=body[len(mark) :].decode(name, errors="replace"), charset=name)
    if (wide := _wide(body)) is not None:
        return Decoded(text=body.decode(wide, errors="replace"), charset=wide)
    said = _said(body, content_type)
    if not (said and said[0].startswith("iso2022")) and _is_utf8(body):
        return Decoded(text=body.decode("utf-8", errors="replace"), charset="utf-8", note=_contradicted(body, said))
    for name in said:
        text = body.decode(name, errors="replace")
        if _broken_share(text) <= _MOST_BROKEN_SHARE:
            return Decoded(text=text, charset=name)
    return _guessed(body, said)


def _said(body: bytes, content_type: str) -> list[str]:
    """By the server, then by the page; as Python calls them; what no browser knows counts as not said."""
    names = [found[1] for found in (_HEADER.search(content_type),) if found]
    names += [found.decode("ascii") for found in _META.findall(body[:_HEAD_BYTES])[:1]]
    known = []
    for name in names:
        try:
            python = codecs.lookup(_NAMES.get(name.lower(), name)).name
        except (LookupError, UnicodeError, ValueError):
            continue
        # UTF-16 is none of them here: it would have been seen, since the page could not say so in ASCII.
        if python in _OF_THE_WEB:
            known.append(_AS_BROWSERS.get(python, python))
    return known


def _wide(body: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of the markup is zero."""
    head = body[:512]
    if len(head) < 8 or b"\0" not in head:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > len(head) // 4 and even < odd // 4:
        return "utf-16-le"
    return "utf-16-be" if even > len(head) // 4 and odd < even // 4 else None


def _is_utf8(body: bytes) -> bool:
    """A character cut at the end of a page that was not read to its end does not count against it."""
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(body, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _contradicted(body: bytes, said: list[str]) -> str | None:
    if not said or said[0] == "utf-8" or body.isascii():
        return None
    return f"The page says that it is {said[0]}, but it is utf-8; it was read as utf-8."


def _guessed(body: bytes, said: list[str]) -> Decoded:
    found = from_bytes(_telling(body), cp_isolation=_LIKELY, threshold=0.5).best()
    name = found.encoding if found is not None else (said[0] if said else "cp1252")
    note = f"Its charset was not said or is wrong; it was read as {name}, which is a guess."
    return Decoded(text=body.decode(name, errors="replace"), charset=name, note=note)


def _telling(body: bytes) -> bytes:
    """Lines with other letters than ASCII: the rest is markup and says nothing."""
    lines = [line for line in body[: _SAMPLE_BYTES * 8].splitlines() if not line.isascii()]
    return b"\n".join(lines)[:_SAMPLE_BYTES]


def _broken_share(text: str) -> float:
    letters = sum(1 for character in text[:200_000] if character > "\x7f") or 1
    return text.count("\ufffd", 0, 200_000) / letters
