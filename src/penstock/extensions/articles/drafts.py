"""What an import reads, one by one: texts that may become articles, and what cannot be taken."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from penstock.console.files.encoding import encoding_of
from penstock.console.files.refused import FileRefused
from penstock.extensions.articles.articles import Visibility
from penstock.insight.record import WIRE

# Where a text is none: nothing of it could be found, and an article that had one would lose it.
EMPTY = "There is no text in it, or nothing behind the title."


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """``source`` is stable: the same one imported again is the same article. ``where`` is for people."""

    where: str
    source: str
    title: str
    content: str
    message: str | None = None
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    __pydantic_config__ = WIRE

    where: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``share``: how much of the whole is read with it, 0 to 1."""

    found: Draft | Refusal
    share: float


# Blocking; read in a thread. Closing it early closes the files.
Entries = Generator[Entry, None, None]


def decoded(data: bytes, *, where: str) -> str | Refusal:
    """In whatever encoding the bytes are."""
    try:
        return data.decode(encoding_of(data))
    except FileRefused as error:
        return Refusal(where=where, why=f"{error.problem[:1].upper()}{error.problem[1:]} {error.next_step}")
    except UnicodeDecodeError as error:
        why = f"Byte {error.start:,} is not {error.encoding}, which the bytes before it are. Save the file as UTF-8."
        return Refusal(where=where, why=why)


def of_markdown(data: bytes, *, where: str, source: str, name: str) -> Draft | Refusal:
    """``name``: the title of a file that names none itself."""
    text = decoded(data, where=where)
    if isinstance(text, Refusal):
        return text
    found = parse(text)
    return Draft(where=where, source=source, title=found.title or name, content=found.content)


# Front matter is short; a rule at the top of a long text is no beginning of one.
_FRONT_MATTER_CHARACTERS = 16 * 1024
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<inside>.*?\n|)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE_LINE = re.compile(r"^title[ \t]*:[ \t]*(?P<title>\S.*)$", re.IGNORECASE | re.MULTILINE)
# Longer lines are no headings. Their patterns would look at such a line again from each of its characters.
_LONGEST_HEADING = 1000
_BLOCK_SIGNS = frozenset({"|", ">", "|-", ">-", "|+", ">+"})
_HEADING = re.compile(r" {0,3}#[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)(.+?)(?<=\S)\1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """``title`` is None where the text names none; ``content`` is without the heading that became the title."""

    title: str | None
    content: str


def parse(text: str) -> Markdown:
    """Front matter names the title, else the first heading of level 1. Both are taken out of the text; a heading that
    says something else than the front matter stays."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    named, rest = _front_matter(text)
    heading = _first_heading(rest)
    if heading is None:
        return Markdown(title=named, content=rest.strip("\n"))
    title, start, end = heading
    if named is not None and named.casefold() != title.casefold():
        return Markdown(title=named, content=rest.strip("\n"))
    before, after = rest[:start].rstrip("\n"), rest[end:].lstrip("\n")
    content = f"{before}\n\n{after}" if before.strip() else after
    return Markdown(title=named or title, content=content.strip("\n"))


def _front_matter(text: str) -> tuple[str | None, str]:
    """(title, text behind it). What is not closed was no front matter."""
    found = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_CHARACTERS) if text.startswith("---") else None
    if found is None:
        return None, text
    line = _TITLE_LINE.search(found["inside"])
    return (None if line is None else _scalar(line["title"])), text[found.end() :]


def _scalar(value: str) -> str | None:
    """Only what fits on one line: quoted or plain, a remark behind a plain one left out."""
    value = value.strip()
    if value[0] in "\"'":
        closing = value.find(value[0], 1)
        return (value[1:closing].strip() or None) if closing > 0 else value[1:].strip() or None
    plain = value.split(" #", 1)[0].strip()
    return None if not plain or plain in _BLOCK_SIGNS or plain.startswith("#") else plain


def _first_heading(text: str) -> tuple[str, int, int] | None:
    """(title, start, end) of the first heading of level 1 outside of code."""
    before: tuple[str, int] | None = None
    for line, start, end in _lines_outside_code(text):
        if len(line) > _LONGEST_HEADING:
            before = None
            continue
        if (found := _HEADING.fullmatch(line)) is not None and (title := _plain(found["title"])):
            return title, start, end
        if before is not None and _UNDERLINE.fullmatch(line) and (title := _plain(before[0])):
            return title, before[1], end
        before = (line, start) if line.strip() and not line.startswith(("    ", "\t", ">", "-", "*", "+")) else None
    return None


def _lines_outside_code(text: str) -> Iterator[tuple[str, int, int]]:
    """(line, start, start of the next). Lines are found one by one: a long text mostly has its heading at the top."""
    fence: str | None = None
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline + 1
        line = text[start:end].rstrip("\n")
        marks = _FENCE.match(line)
        if fence is not None:
            if marks is not None and marks["fence"].startswith(fence) and not line[marks.end() :].strip():
                fence = None
        elif marks is not None:
            fence = marks["fence"]
        else:
            yield line, start, end
        start = end


def _plain(title: str) -> str:
    """Titles are shown as they are: without links and emphasis."""
    return _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", title)).strip()
