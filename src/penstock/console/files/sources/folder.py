"""A folder of this machine as a source."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final
from uuid import uuid4

from penstock.console.files.sources.guard import CHUNK_BYTES, FOLDER_FLAGS, open_file, opened_folder
from penstock.console.files.sources.source import (
    BATCH,
    Changed,
    SourceUnreachable,
    Vanished,
    Wanted,
    storable_path,
)
from penstock.console.storage.sightings import Seen


class Folder:
    """``root`` has passed the guard. Links are never followed, neither to folders nor to files."""

    # The clock of a file system ticks in steps; a second write in the same step leaves the same times.
    settling_seconds: Final = 0.05

    def __init__(self, root: Path, wanted: Wanted) -> None:
        self._root = root
        self._wanted = wanted

    async def listing(self) -> AsyncIterator[list[Seen]]:
        entries = self._walk()
        while batch := await asyncio.to_thread(lambda: list(islice(entries, BATCH))):
            yield batch

    def _walk(self) -> Iterator[Seen]:
        """Folder by folder, names as they come: nothing is held but the folders still to be read."""
        waiting = [""]
        while waiting:
            inside = waiting.pop()
            try:
                with opened_folder(self._root / inside) as descriptor, os.scandir(descriptor) as found:
                    for one in found:
                        path = f"{inside}{one.name}"
                        if one.is_dir(follow_symlinks=False):
                            if self._wanted.enters(path):
                                waiting.append(f"{path}/")
                        elif storable_path(path) and self._wanted(path) and (entry := _entry(path, one)):
                            yield entry
            except OSError as error:
                if inside and isinstance(error, FileNotFoundError):
                    continue  # a folder that was removed meanwhile has no files
                raise SourceUnreachable(f"The folder {str(self._root / inside)!r} cannot be listed", error) from None

    async def read(self, path: str, version: str) -> AsyncIterator[bytes]:
        """The same file before and after, by its descriptor: what is written meanwhile shows in its times."""
        try:
            descriptor = await asyncio.to_thread(open_file, self._root / path)
        except (FileNotFoundError, NotADirectoryError):
            raise Vanished(path) from None
        except OSError as error:
            raise SourceUnreachable(f"{path!r} cannot be opened", error) from None
        try:
            if _version(os.fstat(descriptor)) != version:
                raise Changed(path, "it is not the file that was listed")
            while chunk := await asyncio.to_thread(os.read, descriptor, CHUNK_BYTES):
                yield chunk
            if _version(os.fstat(descriptor)) != version:
                raise Changed(path, "somebody wrote to it")
        except OSError as error:
            raise SourceUnreachable(f"{path!r} cannot be read", error) from None
        finally:
            os.close(descriptor)

    async def delete(self, path: str, version: str) -> bool:
        return await asyncio.to_thread(self._away, path, version, None)

    async def move(self, path: str, version: str, target: str) -> bool:
        return await asyncio.to_thread(self._away, path, version, target)

    def _away(self, path: str, version: str, target: str | None) -> bool:
        """Put aside first, looked at second: a file that took the name a moment ago is put back, not lost."""
        name = PurePosixPath(path).name
        aside = f".penstock-{uuid4().hex}"
        try:
            with opened_folder((self._root / path).parent) as folder:
                if _version(os.stat(name, dir_fd=folder, follow_symlinks=False)) != version:
                    return False
                os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
                if not _same_content(os.stat(aside, dir_fd=folder, follow_symlinks=False), version):
                    _put_back(aside, name, folder)
                    return False
                if target is None:
                    os.unlink(aside, dir_fd=folder)
                else:
                    self._put(aside, folder, f"{target.strip('/')}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise SourceUnreachable(f"{path!r} cannot be {'deleted' if target is None else 'moved'}", error) from None
        return True

    def _put(self, aside: str, folder: int, path: str) -> None:
        """Under its own path in the target; under another name where that one is taken."""
        wanted = PurePosixPath(path)
        with _made_folder(self._root, wanted.parent) as into:
            name = wanted.name
            while not _placed(aside, name, folder, into):
                name = f"{wanted.stem}-{uuid4().hex[:8]}{wanted.suffix}"


def _entry(path: str, one: os.DirEntry[str]) -> Seen | None:
    """None for what is no regular file, or is gone already."""
    try:
        found = one.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Seen(path=path, version=_version(found), size_bytes=found.st_size)


def _version(found: os.stat_result) -> str:
    """The time of change cannot be set by programs, so it also tells a rewrite that restored size and time."""
    return f"{found.st_size}-{found.st_mtime_ns}-{found.st_dev}.{found.st_ino}-{found.st_ctime_ns}"


def _same_content(found: os.stat_result, version: str) -> bool:
    """Without the time of change, which renaming moves."""
    return _version(found).rpartition("-")[0] == version.rpartition("-")[0]


def _placed(aside: str, name: str, folder: int, into: int) -> bool:
    """A link and an unlink, because a rename would write over what is there."""
    try:
        os.link(aside, name, src_dir_fd=folder, dst_dir_fd=into, follow_symlinks=False)
    except FileExistsError:
        return False
    os.unlink(aside, dir_fd=folder)
    return True


def _put_back(aside: str, name: str, folder: int) -> None:
    """Where the name was taken again meanwhile, the file stays under a name that people see."""
    if not _placed(aside, name, folder, folder):
        os.rename(aside, f"{name}.{uuid4().hex[:8]}", src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _made_folder(root: Path, inside: PurePosixPath) -> Iterator[int]:
    """Opened step by step under the root, each step made where it is missing."""
    with opened_folder(root) as start:
        descriptor = os.dup(start)
    try:
        for part in inside.parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            inner = os.open(part, FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)
