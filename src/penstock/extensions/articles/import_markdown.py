"""Markdown files: of a folder, of a zip archive, or one of them.

The table of contents of an archive is judged first. No more bytes are unpacked of an entry than it declares, and where
that was a lie the checksum tells: so a declared size that is small enough is a bound.
"""

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from penstock.console.files import zip_directory
from penstock.console.files.refused import FileRefused
from penstock.extensions.articles.drafts import Draft, Entries, Entry, Refusal, of_markdown

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
    return is_markdown(name) and "__MACOSX" not in parts and not any(map(is_hidden, parts))


SUFFIXES = (".md", ".markdown")


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


def is_hidden(name: str) -> bool:
    return name.startswith(".")


def is_markdown(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _files(root: Path, closed: Callable[[OSError], object] = lambda error: None) -> Iterator[Path]:
    """Hidden ones are left alone, folders behind links as well, and links that lead out. ``closed`` hears of folders
    that cannot be read."""
    for place, folders, names in os.walk(root, onerror=closed):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in sorted(names):
            path = Path(place) / name
            if is_markdown(name) and not is_hidden(name) and (not path.is_symlink() or _stays(path, root)):
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
    if not _storable(source):
        return Refusal(where=ascii(where), why="Its name is not UTF-8. Rename it.")
    return of_markdown(data, where=where, source=source, name=Path(where).stem)


def _storable(source: str) -> bool:
    """File names are bytes; those that are no text came here as lone surrogates."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True
