"""The images in a zip archive, one at a time, counted as they are really unpacked.

What the table of contents declares is not believed: an archive that unpacks to more than it may is refused when the
first byte too many appears.
"""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.console.files import zip_directory
from penstock.console.files.kinds import IMAGE_FORMATS, image_format_of
from penstock.console.files.refused import FileRefused

_MB = 1024 * 1024
_PIECE_BYTES = 64 * 1024
_HEAD_BYTES = 32
# What file managers leave behind; nobody meant to send it.
_LEFTOVERS = frozenset({".ds_store", "thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipImage:
    """``name``: the path in the archive, and different from every other one given out."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipSkipped:
    name: str
    reason: str


def entries(
    path: Path,
    *,
    most: int = 10_000,
    entry_bytes: int = 25 * _MB,
    total_bytes: int = 1024 * _MB,
    skipped: Callable[[ZipSkipped], None] = lambda _: None,
) -> Iterator[ZipImage]:
    """In the order of the archive, so that a second reading numbers them alike. ``skipped`` hears of the others."""
    reading = _Reading(entry_bytes=entry_bytes, total_bytes=total_bytes)
    names: set[str] = set()
    with zip_directory.opened(path) as archive:
        listed = archive.infolist()
        zip_directory.check(listed, most=most)
        for entry in listed:
            if entry.is_dir() or _is_leftover(entry.filename):
                continue
            found = reading.image(archive, entry)
            if isinstance(found, str):
                skipped(ZipSkipped(name=entry.filename, reason=found))
            else:
                yield ZipImage(name=_unlike(entry.filename, names), data=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """As it is before anything is unpacked. ``problem``: why it would be left out."""

    name: str
    size_bytes: int
    problem: str | None


def glance(path: Path, *, shown: int, most: int = 10_000) -> tuple[list[Picture], int]:
    """The first entries by their first bytes, and how many there are; nothing is unpacked."""
    with zip_directory.opened(path) as archive:
        listed = archive.infolist()
        zip_directory.check(listed, most=most)
        wanted = [entry for entry in listed if not entry.is_dir() and not _is_leftover(entry.filename)]
        found = [_glance(archive, entry) for entry in wanted[:shown]]
    return found, len(wanted)


def _glance(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Picture:
    with archive.open(entry) as part:
        head = part.read(_HEAD_BYTES)
    problem = None if image_format_of(head) else f"it is no {_one_of_formats()} image" if head else "it is empty"
    return Picture(name=entry.filename, size_bytes=entry.file_size, problem=problem)


class _Reading:
    """Keeps count over all entries of one archive."""

    def __init__(self, *, entry_bytes: int, total_bytes: int) -> None:
        self._entry_bytes = entry_bytes
        self._total_bytes = total_bytes
        self._total = 0

    def image(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes | str:
        """The image, or why it is none."""
        with archive.open(entry) as part:
            data = bytearray(part.read(_HEAD_BYTES))
            self._count(entry, len(data), len(data))
            if not data:
                return "it is empty"
            if image_format_of(bytes(data)) is None:
                nested = data.startswith(b"PK\x03\x04")
                return "an archive inside an archive is not opened" if nested else f"it is no {_one_of_formats()} image"
            while piece := part.read(_PIECE_BYTES):
                data += piece
                self._count(entry, len(piece), len(data))
        return bytes(data)

    def _count(self, entry: zipfile.ZipInfo, more: int, size: int) -> None:
        self._total += more
        if size > self._entry_bytes:
            problem = f"{entry.filename!r} in the archive is larger than {self._entry_bytes / _MB:g} MB."
            raise FileRefused(problem, "Make the image smaller, or leave it out.")
        if self._total > self._total_bytes:
            problem = f"the archive unpacks to more than {self._total_bytes / _MB:g} MB."
            raise FileRefused(problem, "Split it into smaller archives.")


def _one_of_formats() -> str:
    return f"{', '.join(IMAGE_FORMATS[:-1])} or {IMAGE_FORMATS[-1]}"


def _is_leftover(name: str) -> bool:
    parts = name.lower().split("/")
    return "__macosx" in parts or parts[-1] in _LEFTOVERS


def _unlike(name: str, taken: set[str]) -> str:
    """An archive may hold two files of one name; the second becomes ``a (2).jpg``."""
    path, unlike, number = PurePosixPath(name), name, 1
    while unlike in taken:
        number += 1
        unlike = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
    taken.add(unlike)
    return unlike
