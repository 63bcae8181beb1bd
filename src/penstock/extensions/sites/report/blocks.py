"""The pieces that a report is written in, and how they become HTML and Markdown: so both say the same."""

import re
import unicodedata
from dataclasses import dataclass, field
from html import escape
from typing import assert_never
from urllib.parse import urlsplit

from penstock.extensions.sites.findings import Share
from penstock.extensions.sites.report.style import POLICY, STYLE

# Characters that turn the direction of what follows them: a stranger's text could rewrite ours by them.
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINK = re.compile(r"(?:https?://|/(?!/)|#)[^\s<>\"'`\\\x00-\x1f\x7f]*\Z", re.IGNORECASE)
_VOID = frozenset({"meta", "rect"})
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}\Z")
# What Markdown would take for its own: anywhere, and at the beginning of a line.
_SIGNS = re.compile(r"([\\`*_\[\]|~$>])")
_LEADING = re.compile(r"^(\d{0,9})([#+\-=.)])")
_OF_LINKS = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D", "|": "%7C"})


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


class Html(str):
    """Finished HTML. Everything else is text, and is escaped: text becomes HTML only through :func:`tag`."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: str | None) -> Html:
    """An element. A trailing ``_`` of an attribute's name is left out, any other is a hyphen; None: no attribute."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>" if name == "meta" else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{joined(*inside)}</{name}>")


def joined(*parts: str) -> Html:
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def html(page: Page) -> str:
    """One file that needs nothing else: no script, no font, no picture from elsewhere. Serve it with ``POLICY`` as its
    Content-Security-Policy; opened from a disk, the page brings that along."""
    language = page.language if page.language and _LANGUAGE.match(page.language) else None
    return _Writer(language).document(page)


class _Writer:
    def __init__(self, language: str | None) -> None:
        self._language = language

    def document(self, page: Page) -> str:
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="robots", content="noindex"),
            tag("title", f"{page.title}: website analysis"),
            tag("style", Html(STYLE)),
        )
        header = tag(
            "header",
            tag("p", "Website analysis", class_="soft"),
            tag("h1", self._span(Span(page.title, strange=True))),
            tag("p", self._line(page.subtitle), class_="soft"),
        )
        links = [tag("li", tag("a", one.title, href=f"#{one.anchor}")) for one in page.sections]
        nav = tag("nav", tag("ul", *links), aria_label="Sections")
        main = tag("main", header, nav, *(self._section(one) for one in page.sections))
        return f"<!doctype html>\n{tag('html', head, tag('body', main), lang='en')}\n"

    def _section(self, section: Section) -> Html:
        title = tag("h2", section.title)
        return tag("section", title, *(self._block(one) for one in section.blocks), id=section.anchor)

    def _block(self, block: Block) -> Html:
        match block:
            case Words():
                return tag("p", self._line(block.line))
            case Items():
                return tag("ul", *(tag("li", self._line(one)) for one in block.lines))
            case Pairs():
                rows = (joined(tag("dt", label), tag("dd", self._line(value))) for label, value in block.rows)
                return tag("dl", *rows)
            case Title():
                return tag("h3", self._line(block.line), id=block.anchor)
            case Meter():
                return self._meter(block)
            case Quote():
                quote = tag("blockquote", tag("p", self._line(block.line)))
                return tag("figure", quote, tag("figcaption", self._line(block.source)))
            case Grid():
                return self._grid(block)
            case _:
                assert_never(block)

    def _meter(self, meter: Meter) -> Html:
        label = "".join(span.text for span in meter.label)
        return tag(
            "div",
            tag("p", tag("strong", self._line(meter.label))),
            _bar(meter.share, f"{label}: {meter.words}"),
            tag("p", meter.words),
            class_="meter",
        )

    def _grid(self, grid: Grid) -> Html:
        head = tag("thead", tag("tr", *(tag("th", one, scope="col") for one in grid.head)))
        return tag(
            "table", tag("caption", grid.caption), head, tag("tbody", *(self._row(grid, one) for one in grid.rows))
        )

    def _row(self, grid: Grid, row: tuple[Line, ...]) -> Html:
        heading = tag("th", self._line(row[0]), scope="row")
        rest = zip(grid.head[1:], row[1:], strict=True)
        return tag("tr", heading, *(tag("td", self._line(cell), data_label=label) for label, cell in rest))

    def _line(self, line: Line) -> Html:
        return joined(*(self._span(span) for span in line))

    def _span(self, span: Span) -> Html:
        text = tag("bdi", span.text, lang=self._language) if span.strange else joined(span.text)
        if span.strong:
            text = tag("strong", text)
        link = safe_link(span.link)
        return text if link is None else tag("a", text, href=link, rel="noopener noreferrer nofollow")


def _bar(share: Share, words: str) -> Html:
    """The share, and over it a thin line from the lower to the upper end of its interval."""
    parts = [tag("rect", class_="track", x="0", y="0", width="100", height="8")]
    if share.value is not None:
        parts.append(tag("rect", class_="value", x="0", y="1", width=_figure(share.value), height="6"))
    if share.value is not None and share.low is not None and share.high is not None:
        width = _figure(max(share.high - share.low, 0.004))
        parts.append(tag("rect", class_="span", x=_figure(share.low), y="3.5", width=width, height="1"))
    return tag(
        "svg", *parts, class_="bar", viewBox="0 0 100 8", preserveAspectRatio="none", role="img", aria_label=words
    )


def _figure(share: float) -> str:
    return f"{min(max(share, 0.0), 1.0) * 100:.2f}"


def markdown(page: Page) -> str:
    """The same content for mails, tickets and version control."""
    parts = [f"# {_text(page.title)}", _line(page.subtitle)]
    for section in page.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Words():
            return _line(block.line)
        case Items():
            return "\n".join(f"- {_line(one)}" for one in block.lines)
        case Pairs():
            return "\n".join(f"- **{_text(label)}**: {_line(value)}" for label, value in block.rows)
        case Title():
            return f"### {_line(block.line)}"
        case Meter():
            return f"**{_line(block.label)}**: {_text(block.words)}"
        case Quote():
            return f"> {_line(block.line)}\n>\n> — {_line(block.source)}"
        case Grid():
            head = " | ".join(_text(one) for one in block.head)
            rows = (f"| {' | '.join(_line(cell) for cell in row)} |" for row in block.rows)
            return "\n".join([f"**{_text(block.caption)}**", "", f"| {head} |", "|---" * len(block.head) + "|", *rows])
        case _:
            assert_never(block)


def _line(line: Line) -> str:
    return "".join(_span(span) for span in line)


def _span(span: Span) -> str:
    text = _text(span.text)
    if span.strong:
        text = f"**{text}**"
    link = safe_link(span.link)
    # Anchors are the page's own; Markdown has none.
    return text if link is None or link.startswith("#") else f"[{text}]({link.translate(_OF_LINKS)})"


def _text(text: str) -> str:
    escaped = _SIGNS.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return _LEADING.sub(r"\1\\\2", escaped)
