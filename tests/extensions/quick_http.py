"""HTTP/1.1 with kept connections in a few lines: servers of tests run beside workers and may cost little."""

import asyncio
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from penstock.closing import stop_listening

_GZIP_FROM_BYTES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Header names in lower case; ``fields``: of the query, and of a form."""

    method: str
    path: str
    fields: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """``never``: the connection stays open, and nothing comes."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    never: bool = False


class QuickServer:
    """Subclasses say what to reply. ``most_at_once``: replies that were under way at one time."""

    def __init__(self) -> None:
        self.port = 0
        self.at_once = self.most_at_once = 0
        self.connections: set[asyncio.Transport] = set()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Connections are cut, and refused from now on."""
        server, self._server = self._server, None
        if server is not None:
            await stop_listening(server)
        for connection in list(self.connections):
            connection.abort()
        if server is not None:
            await server.wait_closed()

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, request: Request) -> Reply:
        raise NotImplementedError


class _Connection(asyncio.Protocol):
    """One request at a time, as clients send them."""

    def __init__(self, server: QuickServer) -> None:
        self._server = server
        self._read = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            whole = end + 4 + int(headers.get("content-length", 0))
            if len(self._read) < whole:
                return
            body, self._read = self._read[end + 4 : whole], self._read[whole:]
            self._answer(head[0], headers, body.decode())

    def _answer(self, first: str, headers: Mapping[str, str], body: str) -> None:
        method, target, _ = first.split(" ")
        parts = urlsplit(target)
        fields = dict(parse_qsl(parts.query, keep_blank_values=True)) | dict(parse_qsl(body, keep_blank_values=True))
        self._server.at_once += 1
        self._server.most_at_once = max(self._server.most_at_once, self._server.at_once)
        reply = self._server.reply(Request(method=method, path=parts.path, fields=fields, headers=headers))
        packed = "gzip" in headers.get("accept-encoding", "") and len(reply.body) >= _GZIP_FROM_BYTES
        if reply.never:
            self._server.at_once -= 1
        elif reply.delay_seconds:
            asyncio.get_running_loop().call_later(reply.delay_seconds, self._write, reply, packed)
        else:
            self._write(reply, packed)

    def _write(self, reply: Reply, packed: bool) -> None:
        self._server.at_once -= 1
        body = gzip.compress(reply.body, compresslevel=1) if packed else reply.body
        lines = [f"HTTP/1.1 {reply.status} OK", f"Content-Length: {len(body)}"]
        if packed:
            lines.append("Content-Encoding: gzip")
        if "Content-Type" not in reply.headers:
            lines.append("Content-Type: application/json; charset=utf-8")
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        if not self._transport.is_closing():
            self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)
