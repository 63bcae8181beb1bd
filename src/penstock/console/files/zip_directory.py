"""The table of contents of a zip archive, judged before anything in it is opened."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.console.files.refused import FileRefused

_MB = 1024 * 1024
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# Room for 10,000 entries with long names. The whole table is read at once, so its length is a matter of memory.
_DIRECTORY_BYTES = 4 * _MB
_RATIO_FROM_BYTES = 10 * _MB
_MOST_RATIO = 200
_AGAIN = "Pack it again with another program."


class _ShortReads(io.RawIOBase):
    """A file that refuses to be read in pieces as long as only a table of contents gone wrong would be."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and offset < 0:
            raise zipfile.BadZipFile("an entry begins before the archive does")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(_DIRECTORY_BYTES + 1 if size < 0 else min(size, _DIRECTORY_BYTES + 1))
        if len(data) > _DIRECTORY_BYTES:
            problem = f"the table of contents of the archive is longer than {_DIRECTORY_BYTES // _MB} MB."
            raise FileRefused(problem, "Split it into smaller archives.")
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, where every complaint of the library has become a sentence."""
    with _ShortReads(path) as file, complaints_told(), zipfile.ZipFile(file) as archive:
        yield archive


@contextmanager
def complaints_told() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OverflowError, ValueError) as error:
        raise FileRefused(f"the archive is damaged or cut off ({error}).", "Send it again.") from None
    except (NotImplementedError, RuntimeError) as error:
        raise FileRefused(f"the archive cannot be unpacked ({error}).", _AGAIN) from None


def check(entries: Sequence[zipfile.ZipInfo], *, most: int) -> None:
    """What no honest archive has: too much of it, a password, an unusual method, a place outside, a link."""
    if len(entries) > most:
        problem = f"the archive holds {len(entries):,} entries; at most {most:,} are taken."
        raise FileRefused(problem, "Split it into smaller archives.")
    for entry in entries:
        if entry.flag_bits & _ENCRYPTED:
            raise FileRefused(f"{entry.filename!r} in the archive is encrypted.", "Pack it without a password.")
        if entry.compress_type not in _METHODS:
            problem = f"{entry.filename!r} in the archive is compressed with method {entry.compress_type}."
            raise FileRefused(problem, "Pack it as a plain zip (deflate).")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise FileRefused(f"{entry.filename!r} in the archive is a link.", "Pack the file itself.")
        _check_name(entry.filename)


def _check_name(name: str) -> None:
    parts = name.replace("\\", "/").split("/")
    if parts[0] == "" or parts[0].endswith(":") or ".." in parts:
        raise FileRefused(f"{name!r} in the archive points outside of it.", "Pack it with relative names.")


def check_sizes(entries: Sequence[zipfile.ZipInfo], *, total_bytes: int) -> None:
    """By what the table of contents declares: cheap, and enough to stop bombs that do not lie."""
    total = sum(entry.file_size for entry in entries)
    if total > total_bytes:
        problem = f"the archive unpacks to {total / _MB:,.0f} MB; at most {total_bytes / _MB:,.0f} are read."
        raise FileRefused(problem, "Split it into smaller files.")
    for entry in entries:
        if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > _MOST_RATIO * max(entry.compress_size, 1):
            ratio = entry.file_size / max(entry.compress_size, 1)
            problem = f"{entry.filename!r} unpacks to {ratio:,.0f} times its size; at most {_MOST_RATIO} are read."
            raise FileRefused(problem, "Such a file is no ordinary one; save it again with another program.")
