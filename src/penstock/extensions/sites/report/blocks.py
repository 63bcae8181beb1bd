"""The pieces that a report is written in, before it is HTML or Markdown: so both say the same."""

import re
import unicodedata
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from penstock.extensions.sites.findings import Share

# Characters that turn the direction of what follows them: a stranger's text could rewrite ours by them.
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINK = re.compile(r"(?:https?://|/(?!/)|#)[^\s<>\"'`\\\x00-\x1f\x7f]*\Z", re.IGNORECASE)


def clean(text: str, longest: int = 2000) -> str:
    """What can be shown and stored anywhere: no control characters, no half characters, an end."""
    kept = "".join(
        " " if one in "\t\n\r\v\f\u2028\u2029" else one
        for one in text[: longest + 1]
        if one in "\t\n\r\v\f\u2028\u2029" or (unicodedata.category(one) not in ("Cc", "Cs") and one not in _TURNING)
    )
    line = " ".join(kept.split())
    return line if len(text) <= longest else f"{line[:longest].rstrip()} …"


def safe_link(url: str | None) -> str | None:
    """Where a page may lead to: the web, this server, this page. Not ``javascript:``, ``data:`` or what hides one."""
    if not url or not _LINK.match(url):
        return None
    try:
        urlsplit(url)
    except ValueError:
        return None
    return url


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line. ``strange``: written by somebody else, so it is set apart from ours."""

    text: str
    link: str | None = field(default=None, kw_only=True)
    strange: bool = field(default=False, kw_only=True)
    strong: bool = field(default=False, kw_only=True)


Line = tuple[Span, ...]


def line(*parts: Span | str | None) -> Line:
    return tuple(Span(part) if isinstance(part, str) else part for part in parts if part)


def theirs(text: str | None, longest: int = 600) -> Span | None:
    shown = clean(text or "", longest)
    return Span(shown, strange=True) if shown else None


def address(url: str | None) -> Span | None:
    """Shown as it is written, linked where that is harmless."""
    return Span(clean(url, 500), link=safe_link(url), strange=True) if url else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    rows: tuple[tuple[str, Line], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """A share as a bar, and the same in words."""

    label: Line
    share: Share
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The first cell of a row is its heading."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    line: Line
    source: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A heading inside a section."""

    line: Line
    anchor: str | None = None


Block = Words | Items | Pairs | Meter | Grid | Quote | Title


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """``language``: of what strangers wrote; our own words are English."""

    title: str
    subtitle: Line
    sections: tuple[Section, ...]
    language: str | None = None
