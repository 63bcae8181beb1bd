"""Markdown files of a folder, or one of them."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.apps.article_search.drafts import Draft, Entries, Entry, Refusal, of_markdown
from penstock.intake.refused import FileRefused

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
