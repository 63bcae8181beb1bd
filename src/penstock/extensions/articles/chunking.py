"""Texts cut into passages that each speak of one thing, along headings, paragraphs and sentences.

A passage is a stretch of the text, so that it can be shown in its place. What is embedded is the passage with the title
and its headings before it: a paragraph often does not say what it is about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from penstock.errors import InvalidSetting

VERSION = "structure/1"
LEAST_SIZE, MOST_SIZE = 100, 20_000
_DIGEST_BYTES = 16
_SPELT = re.compile(rf"{re.escape(VERSION)} (\d+)\+(\d+)")
_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")
_SPACE = re.compile(r"\s")
# A passage below this share of the size takes in what follows, also across a heading.
_SMALL_SHARE = 0.25
_LONGEST_HEADINGS = 200
# A longer line is no heading, and the pattern would look at it again from each of its characters.
_LONGEST_HEADING_LINE = 500


@dataclass(frozen=True, slots=True)
class Chunk:
    """``starts`` to ``ends``: its place in the content. ``text``: what is embedded."""

    starts: int
    ends: int
    text: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, a line or a part of one, with the headings above it."""

    starts: int
    ends: int
    section: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunker:
    """``size``: longest passage in characters; ``overlap``: most that a passage repeats of the one before."""

    size: int = 700
    overlap: int = 100

    def __post_init__(self) -> None:
        if not LEAST_SIZE <= self.size <= MOST_SIZE:
            raise InvalidSetting("chunk size", self.size, f"use {LEAST_SIZE} to {MOST_SIZE:,} characters")
        if not 0 <= self.overlap <= self.size // 2:
            raise InvalidSetting("overlap", self.overlap, f"use 0 to half the chunk size ({self.size // 2})")

    def __str__(self) -> str:
        return f"{VERSION} {self.size}+{self.overlap}"

    def cut(self, title: str, content: str) -> list[Chunk]:
        """At least one; a text without content is its title."""
        headings: list[str] = [""]
        pieces = list(_pieces(content, self.size, headings))
        if not pieces:
            return [_chunk(title, "", "", 0, 0)]
        return [
            _chunk(title, headings[section], content[starts:ends], starts, ends)
            for starts, ends, section in self._passages(pieces)
        ]

    def _passages(self, pieces: list[_Piece]) -> Iterator[tuple[int, int, int]]:
        first = 0
        while first < len(pieces):
            last = first
            while last + 1 < len(pieces) and self._joins(pieces[first], pieces[last], pieces[last + 1]):
                last += 1
            yield pieces[first].starts, pieces[last].ends, pieces[first].section
            first = self._next(pieces, first, last)

    def _joins(self, first: _Piece, last: _Piece, following: _Piece) -> bool:
        if following.ends - first.starts > self.size:
            return False
        return following.section == last.section or last.ends - first.starts < self.size * _SMALL_SHARE

    def _next(self, pieces: list[_Piece], first: int, last: int) -> int:
        """Where the next passage begins: behind this one, or a few sentences back in the same section."""
        following = last + 1
        if following >= len(pieces):
            return following
        begin = following
        while (
            begin - 1 > first
            and pieces[begin - 1].section == pieces[following].section
            and pieces[last].ends - pieces[begin - 1].starts <= self.overlap
            and pieces[following].ends - pieces[begin - 1].starts <= self.size
        ):
            begin -= 1
        return begin


def parse(spelt: str) -> Chunker:
    """As a generation keeps it: the version and the sizes."""
    found = _SPELT.fullmatch(spelt)
    if found is None:
        raise InvalidSetting("chunker", spelt, f"this version of Penstock cuts as {VERSION!r}; build a new generation")
    return Chunker(size=int(found[1]), overlap=int(found[2]))


def _chunk(title: str, headings: str, passage: str, starts: int, ends: int) -> Chunk:
    parts = [part for part in (title.strip(), headings, passage.strip()) if part]
    text = "\n".join(parts)
    return Chunk(starts, ends, text, blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest())


def _pieces(content: str, size: int, headings: list[str]) -> Iterator[_Piece]:
    """``headings`` grows: the path of each section, by its number."""
    path: list[tuple[int, str]] = []
    fenced = False
    section = 0
    for starts, ends in _blocks(content):
        line = content[starts:ends]
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and ends - starts <= _LONGEST_HEADING_LINE and (found := _HEADING.fullmatch(line)):
            depth = len(found[1])
            path = [(level, name) for level, name in path if level < depth] + [(depth, found[2])]
            headings.append(" › ".join(name for _, name in path)[:_LONGEST_HEADINGS])
            section += 1
        for piece_starts, piece_ends in _sentences(content, starts, ends, size):
            yield _Piece(piece_starts, piece_ends, section)


def _blocks(content: str) -> Iterator[tuple[int, int]]:
    """Lines that hold something."""
    for found in _LINE.finditer(content):
        starts, ends = found.span()
        line = found[0]
        if line.strip():
            yield starts + len(line) - len(line.lstrip()), ends - len(line) + len(line.rstrip())


def _sentences(content: str, starts: int, ends: int, size: int) -> Iterator[tuple[int, int]]:
    """Sentences of a line; what is longer than a passage is cut at a space, or anywhere where there is none."""
    begin = starts
    for found in _SENTENCE.finditer(content, starts, ends):
        yield from _short(content, begin, found.start(), size)
        begin = found.end()
    yield from _short(content, begin, ends, size)


def _short(content: str, starts: int, ends: int, size: int) -> Iterator[tuple[int, int]]:
    while ends - starts > size:
        cut = starts + size
        for found in _SPACE.finditer(content, starts + size // 2, cut):
            cut = found.start()
        yield starts, cut
        starts = cut
        while starts < ends and content[starts].isspace():
            starts += 1
    if ends > starts:
        yield starts, ends
