"""A bucket, or a part of one, as a source: S3 and whatever speaks like it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import S3Store

from penstock.closing import stop_listening
from penstock.console.files.sources.guard import checked_host
from penstock.console.files.sources.source import (
    BATCH,
    Changed,
    SourceUnreachable,
    Vanished,
    Wanted,
    login,
    storable_path,
)
from penstock.console.storage.sightings import Seen
from penstock.console.storage.sources import NewSource
from penstock.errors import UsageError

if TYPE_CHECKING:
    from obstore import ObjectMeta

_MOST_COPIES = 1000
_REGION = "us-east-1"
_RETRY: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}


class Bucket:
    """Paths are relative to the prefix. An object is whole as soon as it is listed."""

    settling_seconds: Final = 0.0

    def __init__(self, store: S3Store, prefix: str, wanted: Wanted, where: str) -> None:
        self._store = store
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._wanted = wanted
        self._where = where

    async def listing(self) -> AsyncIterator[list[Seen]]:
        with _faults_told(f"{self._where} cannot be listed"):
            async for page in obstore.list(self._store, self._prefix or None, chunk_size=BATCH):
                batch = [self._entry(one) for one in page]
                yield [one for one in batch if storable_path(one.path) and self._wanted(one.path)]

    async def read(self, path: str, version: str) -> AsyncIterator[bytes]:
        """Only the object that was listed: the server itself compares its tag."""
        with _faults_told(f"{path!r} in {self._where} cannot be read"):
            try:
                found = await obstore.get_async(self._store, self._prefix + path, options={"if_match": _tag(version)})
                if _version(found.meta) != version:
                    raise Changed(path, "another object has its name")
                async for chunk in found.stream():
                    yield bytes(chunk)
            except PreconditionError:
                raise Changed(path, "another object has its name") from None
            except FileNotFoundError:
                raise Vanished(path) from None

    async def delete(self, path: str, version: str) -> bool:
        with _faults_told(f"{path!r} in {self._where} cannot be deleted"):
            if not await self._is(path, version):
                return False
            await obstore.delete_async(self._store, self._prefix + path)
        return True

    async def move(self, path: str, version: str, target: str) -> bool:
        """A copy, and a deletion only while the original is still the one that was copied."""
        with _faults_told(f"{path!r} in {self._where} cannot be moved"):
            if not await self._is(path, version):
                return False
            await self._copy(path, f"{self._prefix}{target.strip('/')}/{path}")
        return await self.delete(path, version)

    async def _copy(self, path: str, copy: str) -> None:
        """Never over a file that was moved there before: the next one of that name gets a number."""
        stem, dot, suffix = copy.rpartition(".")
        if not dot or "/" in suffix:
            stem, suffix = copy, ""
        for number in range(1, _MOST_COPIES + 1):
            name = copy if number == 1 else f"{stem} ({number}){dot if suffix else ''}{suffix}"
            if not await self._exists(name):
                await obstore.copy_async(self._store, self._prefix + path, name)
                return
        raise OSError(f"there are {_MOST_COPIES} files of that name already")

    async def _exists(self, key: str) -> bool:
        try:
            await obstore.head_async(self._store, key)
        except FileNotFoundError:
            return False
        return True

    async def _is(self, path: str, version: str) -> bool:
        try:
            return _version(await obstore.head_async(self._store, self._prefix + path)) == version
        except FileNotFoundError:
            return False

    def _entry(self, one: "ObjectMeta") -> Seen:
        path = one["path"].removeprefix(self._prefix)
        return Seen(path=path, version=_version(one), size_bytes=one["size"])


@asynccontextmanager
async def opened(source: NewSource, *, allow_private: bool) -> AsyncIterator[Bucket]:
    place = source.place
    region = place.get("region") or _REGION
    # Always named, so that no variable of the environment can choose another one.
    endpoint = place.get("endpoint") or f"https://s3.{region}.amazonaws.com"
    host, port = _host_and_port(endpoint)
    address = await checked_host(host, allow_private)
    async with pinned(address, port) as proxy:
        store = S3Store(
            place["bucket"],
            endpoint=endpoint,
            region=region,
            client_options={
                "allow_http": True,
                "proxy_url": proxy,
                "connect_timeout": timedelta(seconds=10),
                "read_timeout": timedelta(seconds=60),
                # Of the whole answer: a large object may take its time as long as bytes keep coming.
                "timeout": timedelta(days=1),
            },
            retry_config=_RETRY,
            **_credentials(source),
        )
        yield Bucket(store, place.get("prefix") or "", Wanted(source), f"The bucket {place['bucket']!r} at {host}")


def _credentials(source: NewSource) -> dict[str, Any]:
    """Named keys or none: never those of the machine, which would be asked of its metadata service."""
    if (found := login(source)) is None:
        return {"skip_signature": True}
    return {"access_key_id": found[0], "secret_access_key": found[1]}


def _host_and_port(endpoint: str) -> tuple[str, int]:
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise UsageError(f"The endpoint {endpoint[:200]!r} will not do. Write it as https://host or https://host:port.")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _version(one: "ObjectMeta") -> str:
    """The tag is a hash of the content or of its parts; where there is none, time and size have to do."""
    return f"{one['e_tag'] or ''}|{one['size']}|{'' if one['e_tag'] else one['last_modified'].isoformat()}"


def _tag(version: str) -> str | None:
    return version.rsplit("|", 2)[0] or None


@contextmanager
def _faults_told(what: str) -> Iterator[None]:
    """Without the inner structure that the library appends."""
    try:
        yield
    except (BaseError, OSError) as error:
        raise SourceUnreachable(what, str(error).partition("\n\nDebug source")[0]) from None


# ---------------------------------------------------------------- the address it may reach

_HEAD_LIMIT_BYTES = 64 * 1024
_CONNECT_SECONDS = 10.0
_PIECE_BYTES = 64 * 1024


@asynccontextmanager
async def pinned(address: str, port: int) -> AsyncIterator[str]:
    """Holds a client that resolves names by itself to the one address that was checked: the URL of a loopback proxy,
    for as long as the block lasts.

    Whatever host the client asks for, also after a redirect or when the name means something else by now, its bytes go
    to that address. TLS stays between the client and the far end.
    """
    running: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await _pass(reader, writer, address, port)
        except asyncio.CancelledError:
            pass  # the block has ended
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=_HEAD_LIMIT_BYTES)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await stop_listening(server)
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, port: int) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(_CONNECT_SECONDS):
        far_reader, far_writer = await asyncio.open_connection(address, port)
    try:
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            far_writer.write(head)
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
    finally:
        far_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; the other then learns it by an end of its own."""
    try:
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
