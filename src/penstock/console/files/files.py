"""Files on their way into the database and out of it again, a chunk at a time."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.application import Penstock
from penstock.console.files.refused import FileRefused
from penstock.console.storage import files
from penstock.console.storage.files import CHUNK_BYTES
from penstock.errors import PayloadTooLarge

_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """``head`` holds the first chunk: enough to see what kind of file it is."""

    id: int
    name: str
    size_bytes: int
    sha256: bytes
    head: bytes

    @property
    def whole(self) -> bool:
        """Whether the head is all of it."""
        return self.size_bytes == len(self.head)


def plain_name(name: str) -> str:
    """What a client calls a file, without folders and without what could not be shown or stored."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(character for character in last if character.isprintable()).strip()
    return shown[-_NAME_CHARACTERS:] or "file"


async def store(
    app: Penstock,
    chunks: AsyncIterable[bytes],
    *,
    owner: str,
    name: str,
    ip: str | None,
    copy_to: Callable[[bytes], Path | None] = lambda head: None,
    media_type: str = "application/octet-stream",
) -> StoredFile:
    """Each chunk is a statement of its own: a slow client holds no transaction open. What is cut stays unfinished, and
    upkeep takes it away. ``copy_to`` sees the first chunk, may refuse the file, and says where the same bytes should go
    for a parser that needs a real file."""
    limit_bytes = app.settings.max_upload_bytes
    digest, size, number, head = hashlib.sha256(), 0, 0, b""
    async with app.connection() as connection:
        file_id = await files.create(connection, owner=owner, name=name, media_type=media_type, ip=ip)
    copied = None
    try:
        async for chunk in _even(chunks):
            size += len(chunk)
            if size > limit_bytes:
                raise PayloadTooLarge(what=f"file {name!r}", size_bytes=size, limit_bytes=limit_bytes)
            digest.update(chunk)
            if not head:
                head = chunk
                path = copy_to(head)
                copied = None if path is None else path.open("wb")
            if copied is not None:
                copied.write(chunk)
            async with app.connection() as connection:
                await files.append(connection, file_id, number, chunk)
            number += 1
        if not size:
            raise FileRefused("the file is empty.", "Upload a file with a header and at least one row.")
        async with app.connection() as connection:
            await files.finish(connection, file_id, size_bytes=size, sha256=digest.digest(), media_type=media_type)
    except BaseException:
        await discard(app, file_id)
        raise
    finally:
        if copied is not None:
            copied.close()
    return StoredFile(id=file_id, name=name, size_bytes=size, sha256=digest.digest(), head=head)


async def discard(app: Penstock, *file_ids: int) -> None:
    async with app.connection() as connection:
        await files.discard(connection, file_ids)


async def _even(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Chunks of one size, whatever sizes came."""
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        while len(waiting) >= CHUNK_BYTES:
            yield bytes(waiting[:CHUNK_BYTES])
            del waiting[:CHUNK_BYTES]
    if waiting:
        yield bytes(waiting)


async def read(app: Penstock, file_id: int, *, job_id: int | None) -> AsyncIterator[bytes]:
    """The bytes as they came, chunk by chunk; none where the file does not belong to this job."""
    number = 0
    while True:
        async with app.connection() as connection:
            chunk = await files.read_chunk(connection, file_id, number, job_id=job_id)
        if chunk is None:
            return
        yield chunk
        number += 1


async def read_all(app: Penstock, file_id: int, limit_bytes: int, *, job_id: int | None) -> bytes:
    """A small file of this job at once, such as an image."""
    data = bytearray()
    async for chunk in read(app, file_id, job_id=job_id):
        data += chunk
        if len(data) > limit_bytes:
            raise PayloadTooLarge(what=f"file {file_id}", size_bytes=len(data), limit_bytes=limit_bytes)
    if not data:
        raise FileRefused(f"there is no file {file_id} in this job.", "Upload it again.")
    return bytes(data)


async def spool(app: Penstock, file_id: int, path: Path, *, job_id: int) -> None:
    """Into a real file, for parsers that jump around in it."""
    with path.open("wb") as target:
        async for chunk in read(app, file_id, job_id=job_id):
            target.write(chunk)


async def store_image(connection: Any, *, owner: str, name: str, data: bytes, job_id: int) -> int:
    """A small file, whole, in the transaction of its task."""
    file_id = await files.create(connection, owner=owner, name=name, media_type="image", ip=None)
    await files.belong(connection, [file_id], job_id)
    for number, start in enumerate(range(0, len(data), CHUNK_BYTES)):
        await files.append(connection, file_id, number, data[start : start + CHUNK_BYTES])
    digest = hashlib.sha256(data).digest()
    await files.finish(connection, file_id, size_bytes=len(data), sha256=digest, media_type="image")
    return file_id
