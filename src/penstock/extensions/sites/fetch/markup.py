"""A first look at a page: its links, and whether there is anything to read.

Plain scanning in linear time, since it happens in the process that runs everything else; the real parser works in a
child of its own.
"""

import html
import re
from dataclasses import dataclass

# Python refuses to read numbers of thousands of digits. No character has a number this long.
_ENDLESS = re.compile(r"&#[0-9]{20,};?")
_LARGEST_SCAN = 2 * 1024 * 1024
# No "<" inside: a page of nothing but "<a <a <a" is passed once, not once per "<a".
_ANCHOR = re.compile(r"<a\s([^<>]*)>([^<]{0,200})", re.IGNORECASE)
_BASE = re.compile(r"<base\s([^<>]*)>", re.IGNORECASE)
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_UNSEEN = ("script", "style", "noscript", "template", "title")
_MOST_LINKS = 2000


def unescaped(text: str) -> str:
    """Never raises; a number that no character has becomes the sign for a broken character."""
    return html.unescape(_ENDLESS.sub("\ufffd", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """``href`` as it stands there; ``text`` is what people see of it."""

    href: str
    text: str


def decoded(body: bytes) -> str:
    """Good enough for links and for counting letters."""
    start = body[:_LARGEST_SCAN]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return start.decode("utf-16", errors="replace")
    return start.decode("utf-8", errors="ignore") if _recognised(body) else start.decode("latin-1")


def _recognised(body: bytes) -> bool:
    """A character that was cut at the end is no reason to read the page in another way."""
    try:
        body[:_LARGEST_SCAN].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= min(len(body), _LARGEST_SCAN) - 4
    return True


def links(text: str) -> tuple[str | None, list[Link]]:
    """What the page says its links are relative to, and the links in their order."""
    shown = _without_comments(text)
    for name in ("script", "style", "template"):
        shown = _without_element(shown, name)
    base = _BASE.search(shown)
    found = []
    for anchor in _ANCHOR.finditer(shown):
        href = _href(anchor[1])
        if href:
            found.append(Link(href=href, text=" ".join(unescaped(anchor[2]).split())))
        if len(found) == _MOST_LINKS:
            break
    return (_href(base[1]) if base else None), found


def letters(body: bytes) -> int:
    """How many letters people see, about. In a charset that was not recognised, every byte of one counts."""
    text = decoded(body)
    shown = _without_comments(text)
    for name in _UNSEEN:
        shown = _without_element(shown, name)
    seen = unescaped(_TAG.sub(" ", shown))
    foreign = 0 if _recognised(body) else sum("\x80" <= one <= "\xff" and not one.isalpha() for one in seen)
    return sum(map(str.isalpha, seen)) + foreign


def has_scripts(text: str) -> bool:
    return "<script" in text.lower()


def _href(attributes: str) -> str | None:
    found = _HREF.search(attributes)
    return None if found is None else unescaped(found[1] or found[2] or found[3] or "").strip() or None


def _without_comments(text: str) -> str:
    return _without(text, text, "<!--", "-->")


def _without_element(text: str, name: str) -> str:
    folded = text.lower() if len(text.lower()) == len(text) else text
    return _without(text, folded, f"<{name}", f"</{name}")


def _without(text: str, folded: str, opening: str, closing: str) -> str:
    """One pass; what is never closed reaches to the end."""
    kept, at = [], 0
    while (begin := folded.find(opening, at)) != -1:
        kept.append(text[at:begin])
        end = folded.find(closing, begin)
        if end == -1:
            return "".join(kept)
        at = end + len(closing)
    kept.append(text[at:])
    return "".join(kept)
