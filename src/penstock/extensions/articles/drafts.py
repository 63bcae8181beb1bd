"""What an import reads, one by one: texts that may become articles, and what cannot be taken. Here Markdown files: of a
folder, of a zip archive, or one of them.

The table of contents of an archive is judged first. No more bytes are unpacked of an entry than it declares, and where
that was a lie the checksum tells: so a declared size that is small enough is a bound.
"""

import os
import re
import stat
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.console.files import zip_directory
from penstock.console.files.encoding import encoding_of
from penstock.console.files.refused import FileRefused
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.shared import WireRecord

SUFFIXES = (".md", ".markdown")
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
class Refusal(WireRecord):
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


MOST_ENTRIES = 50_000
TOTAL_BYTES = 1024 * 1024 * 1024


def read_zip(
    path: Path,
    *,
    source: str,
    most_bytes: int,
    most_entries: int = MOST_ENTRIES,
    total_bytes: int = TOTAL_BYTES,
) -> Entries:
    """``source``: before the path of each entry, because most archives have a ``README.md``.

    One that is damaged or too long is refused, the others are read; the whole is refused where it is no honest
    archive."""
    with zip_directory.opened(path) as archive:
        listed = archive.infolist()
        zip_directory.check(listed, most=most_entries)
        wanted = [entry for entry in listed if not entry.is_dir() and _is_wanted(entry.filename)]
        if not wanted:
            raise FileRefused("the archive holds no Markdown file.", f"Pack {' or '.join(SUFFIXES)} files.")
        zip_directory.check_sizes(wanted, total_bytes=total_bytes)
        seen: set[str] = set()
        for number, entry in enumerate(wanted, start=1):
            name = entry.filename
            found: bytes | Draft | Refusal = Refusal(where=name, why="The archive has another file of that name.")
            if name not in seen:
                found = _unpacked(archive, entry, most_bytes)
            seen.add(name)
            if isinstance(found, bytes):
                found = of_markdown(found, where=name, source=f"{source}/{name}", name=PurePosixPath(name).stem)
            yield Entry(found=found, share=number / len(wanted))


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most_bytes: int) -> bytes | Refusal:
    if entry.file_size > most_bytes:
        why = f"It has more than {most_bytes:,} bytes. Split it into several articles."
        return Refusal(where=entry.filename, why=why)
    try:
        with zip_directory.complaints_told(), archive.open(entry) as part:
            return part.read()
    except FileRefused as error:
        return Refusal(where=entry.filename, why=str(error))


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    return is_markdown(name) and "__MACOSX" not in parts and not any(part.startswith(".") for part in parts)


def read_file(path: Path, *, name: str, source: str, most_bytes: int) -> Entries:
    """``name``: what the file is called, which need not be what it is called here."""
    yield Entry(found=_read(path, where=name, source=source, most_bytes=most_bytes), share=1.0)


def read_folder(folder: Path, *, source: str, most_bytes: int) -> Entries:
    """In the order of the names. ``source`` begins what every article is known by, so that two folders with an
    ``index.md`` each do not overwrite one another."""
    root = folder.resolve()
    total = sum(1 for _ in _files(root))
    if not total:
        raise FileRefused(
            f"there is no Markdown file in {str(folder)!r}.", f"Name a folder with {' or '.join(SUFFIXES)} files."
        )
    closed: list[OSError] = []
    for number, path in enumerate(_files(root, closed.append), start=1):
        where = path.relative_to(root).as_posix()
        found = _read(path, where=where, source=f"{source.rstrip('/')}/{where}", most_bytes=most_bytes)
        yield Entry(found=found, share=min(number / total, 1.0))
    for error in closed:
        where = Path(error.filename or root).relative_to(root).as_posix()
        yield Entry(found=Refusal(where=where, why=f"The folder cannot be read: {error.strerror}."), share=1.0)


def is_markdown(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _files(root: Path, closed: Callable[[OSError], object] = lambda error: None) -> Iterator[Path]:
    """Hidden ones are left alone, folders behind links as well, and links that lead out. ``closed`` hears of folders
    that cannot be read."""
    for place, folders, names in os.walk(root, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if is_markdown(name) and not name.startswith(".") and (not path.is_symlink() or _stays(path, root)):
                yield path


def _stays(link: Path, root: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _read(path: Path, *, where: str, source: str, most_bytes: int) -> Draft | Refusal:
    try:
        # Not waited for: a pipe has no end.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Refusal(where=where, why="It is no plain file. Leave it out.")
            data = file.read(most_bytes + 1)
    except OSError as error:
        return Refusal(where=where, why=f"It cannot be read: {error.strerror}. Check its rights.")
    if len(data) > most_bytes:
        return Refusal(where=where, why=f"It has more than {most_bytes:,} bytes. Split it into several articles.")
    # File names are bytes; those that are no text came here as lone surrogates.
    if any("\ud800" <= sign <= "\udfff" for sign in source):
        return Refusal(where=ascii(where), why="Its name is not UTF-8. Rename it.")
    return of_markdown(data, where=where, source=source, name=Path(where).stem)
