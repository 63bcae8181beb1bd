"""A folder of an FTP server as a source, plain or with TLS, always passive."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aioftp
from aioftp.common import SSLSessionBoundContext

from penstock.console.files.sources.guard import CHUNK_BYTES, checked_host
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

_ANSWER_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
# What the line, the server, or an answer that is no answer may raise.
_FAULTS = (
    aioftp.AIOFTPException,
    OSError,
    EOFError,
    TimeoutError,
    ValueError,
    KeyError,
    IndexError,
    asyncio.LimitOverrunError,
)
_NO_SUCH = ("550",)
_UNKNOWN_COMMAND = "50x"


class _Client(aioftp.Client):
    """Connects to the checked address only, for commands and for data, and checks certificates by the host's name."""

    def __init__(self, name: str, address: str, **options: Any) -> None:
        super().__init__(socket_timeout=_ANSWER_SECONDS, connection_timeout=_CONNECT_SECONDS, **options)
        self._name = name
        self._address = address

    async def _open_connection(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Whatever host the server names for its data: that would be a way to have us speak to others."""
        tls: Any = self.ssl
        if self._stream is not None:
            inner = self._stream.writer.transport.get_extra_info("ssl_object")
            if inner is not None:
                tls = SSLSessionBoundContext(ssl.PROTOCOL_TLS_CLIENT, context=inner.context, session=inner.session)
        async with asyncio.timeout(self.connection_timeout):
            return await asyncio.open_connection(
                self._address, port, ssl=tls, server_hostname=self._name if tls else None
            )


class FtpConnection:
    """One connection, opened when it is first needed and again after a fault."""

    def __init__(self, source: NewSource, address: str) -> None:
        self._source = source
        self._address = address
        self._root = (source.place.get("path") or "/").rstrip("/")
        self._wanted = Wanted(source)
        self._where = f"The FTP server {source.place['host']!r}"
        self._client: _Client | None = None
        # MLSD tells seconds; a server that only has LIST tells minutes, and two versions of one minute look the same.
        self.settling_seconds = 1.0

    async def listing(self) -> AsyncIterator[list[Seen]]:
        folders, batch = deque([""]), list[Seen]()
        while folders:
            inside = folders.popleft()
            try:
                async for path, kind, entry in self._entries(inside):
                    if kind == "dir" and self._wanted.enters(path):
                        folders.append(f"{path}/")
                    elif kind == "file" and self._wanted(path):
                        batch.append(entry)
                    if len(batch) == BATCH:
                        yield batch
                        batch = []
            except _FAULTS as error:
                await self.close()
                raise SourceUnreachable(
                    f"{self._where} did not list {self._full(inside)!r} to its end", error
                ) from None
        if batch:
            yield batch

    async def _entries(self, inside: str) -> AsyncIterator[tuple[str, str, Seen]]:
        """A listing that is cut is an error: the server has to say that it was all."""
        client = await self._connected()
        async for found, info in client.list(self._full(inside), raw_command=await self._command(client)):
            path = f"{inside}{found.name}"
            if found.name in (".", "..") or not storable_path(path) or str(found) != self._full(path):
                continue
            kind = str(info["type"])
            size = _size(info) if kind == "file" else 0
            yield path, kind, Seen(path=path, version=_version(info), size_bytes=size)

    async def _command(self, client: _Client) -> Any:
        """Asked once per listing, so that all of it is read in one way."""
        if self.settling_seconds >= 60:
            return "LIST"
        try:
            await client.command(f"MLST {self._full('')}", "2xx")
        except aioftp.StatusCodeError as error:
            if error.received_codes[-1].matches(_UNKNOWN_COMMAND):
                self.settling_seconds = 60.0
                return "LIST"
        return "MLSD"

    async def read(self, path: str, version: str) -> AsyncIterator[bytes]:
        """Until the server says that it was all, and the same version afterwards."""
        read_bytes = 0
        try:
            client = await self._connected()
            if await self._version_now(client, path) not in (version, None):
                raise Changed(path, "it is not the file that was listed")
            async with client.download_stream(self._full(path)) as stream:
                async for chunk in stream.iter_by_block(CHUNK_BYTES):
                    read_bytes += len(chunk)
                    yield chunk
            if await self._version_now(client, path) not in (version, None):
                raise Changed(path, "it was written to")
        except aioftp.StatusCodeError as error:
            await self.close()
            if error.received_codes[-1] in _NO_SUCH:
                raise Vanished(path) from None
            raise SourceUnreachable(f"{self._where} does not send {path!r}", error) from None
        except _FAULTS as error:
            await self.close()
            raise SourceUnreachable(f"{self._where} stopped sending {path!r} after {read_bytes} bytes", error) from None

    async def _version_now(self, client: _Client, path: str) -> str | None:
        """None where the server cannot be asked about one file."""
        if self.settling_seconds >= 60:
            return None
        return _version(await client.stat(self._full(path)))

    async def delete(self, path: str, version: str) -> bool:
        async def remove(client: _Client) -> None:
            await client.remove_file(self._full(path))

        return await self._if_same(path, version, remove, "delete")

    async def move(self, path: str, version: str, target: str) -> bool:
        """The name stays free of what is there already: some servers write over it, so it is asked for first."""

        async def rename(client: _Client) -> None:
            into = self._full(f"{target.strip('/')}/{path}")
            await client.make_directory(into.rpartition("/")[0])
            if await client.exists(into):
                into = f"{into}.{version.replace('-', '.')}"
            await client.rename(self._full(path), into)

        return await self._if_same(path, version, rename, "move")

    async def _if_same(self, path: str, version: str, act: Any, verb: str) -> bool:
        try:
            client = await self._connected()
            if await self._version_now(client, path) not in (version, None):
                return False
            await act(client)
        except aioftp.StatusCodeError as error:
            if error.received_codes[-1] in _NO_SUCH:
                with suppress(*_FAULTS):
                    if not await (await self._connected()).exists(self._full(path)):
                        return False
            raise SourceUnreachable(f"{self._where} does not {verb} {path!r}", error) from None
        except _FAULTS as error:
            await self.close()
            raise SourceUnreachable(f"{self._where} does not {verb} {path!r}", error) from None
        return True

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}".rstrip("/") or "/"

    async def _connected(self) -> _Client:
        if self._client is None:
            place, tls = self._source.place, self._source.place.get("tls", "none")
            found = login(self._source)
            context = ssl.create_default_context() if tls == "implicit" else None
            client = _Client(place["host"], self._address, ssl=context)
            try:
                await client.connect(place["host"], place.get("port") or (990 if tls == "implicit" else 21))
                if tls == "explicit":
                    await client.upgrade_to_tls()
                await client.login(*(found or ()))
            except BaseException:
                client.close()
                raise
            self._client = client
        return self._client

    async def close(self) -> None:
        """Without a goodbye: after a fault nobody knows what the server would answer to."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


@asynccontextmanager
async def opened(source: NewSource, *, allow_private: bool) -> AsyncIterator[FtpConnection]:
    server = FtpConnection(source, await checked_host(source.place["host"], allow_private))
    try:
        yield server
    finally:
        await server.close()


def _version(info: Any) -> str:
    """Only what a size and a time may be: the rest of an answer is the server's to choose."""
    modified = "".join(sign for sign in str(info.get("modify", "")) if sign in "0123456789")
    return f"{_size(info)}-{modified[:20]}"


def _size(info: Any) -> int:
    size = int(info.get("size", 0))
    if not 0 <= size < 2**62:
        raise ValueError(f"{size} is no size of a file")
    return size
