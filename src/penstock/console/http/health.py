"""A very small HTTP endpoint: /healthz, /readyz and /metrics, on asyncio alone.

It answers GET and HEAD, one request a connection, with bounds on size and time, and knows nothing else.
"""

import asyncio
import http
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from penstock.closing import stop_listening

_HEAD_LIMIT_BYTES = 8192
_TIMEOUT_SECONDS = 10.0
_RETRY_AFTER_SECONDS = 2
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Watched(Protocol):
    """What the endpoint reports on."""

    async def unready(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


class Endpoint:
    """``start`` binds (an OSError when it cannot), ``close`` stops listening and drops what is open."""

    def __init__(self, *, watched: Watched, metrics: Callable[[], Awaitable[bytes]]) -> None:
        self._watched = watched
        self._metrics = metrics
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> str:
        """Returns the address it listens on, with the port it really got."""
        self._server = await asyncio.start_server(self._accepted, host, port, limit=_HEAD_LIMIT_BYTES)
        name = self._server.sockets[0].getsockname()
        shown = f"[{name[0]}]" if ":" in name[0] else name[0]
        return f"http://{shown}:{name[1]}"

    async def close(self) -> None:
        if self._server is not None:
            await stop_listening(self._server)
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._talk(reader, writer)
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a client that does not speak HTTP, or not to the end
        finally:
            self._open.discard(task)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        answer = await self.answer(method.decode("latin-1"), path)
        writer.write(_encoded(answer, with_body=method != b"HEAD"))
        await writer.drain()

    async def answer(self, method: str, path: str) -> Answer:
        """The answer to one request; a fault of ours is a 500 with its name, never a broken connection."""
        if method not in ("GET", "HEAD"):
            return _json(405, {"error": f"{method} is not answered here; use GET"}, Allow="GET, HEAD")
        try:
            match path:
                case "/healthz":
                    return _json(200, {"status": "ok"})
                case "/readyz":
                    return await self._ready()
                case "/metrics":
                    return Answer(status=200, body=await self._metrics(), content_type=_METRICS_TYPE)
                case _:
                    return _json(404, {"error": f"there is no {path}; try /healthz, /readyz or /metrics"})
        except Exception as error:
            return _json(500, {"error": f"{type(error).__name__}: {error}"})

    async def _ready(self) -> Answer:
        reason = await self._watched.unready()
        if reason is None:
            return _json(200, {"status": "ready"})
        return _json(503, {"status": "not ready", "reason": reason}, **{"Retry-After": str(_RETRY_AFTER_SECONDS)})


def _json(status: int, data: dict[str, str], **headers: str) -> Answer:
    return Answer(status=status, body=orjson.dumps(data) + b"\n", headers=headers)


def _encoded(answer: Answer, *, with_body: bool) -> bytes:
    headers = {
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} {http.HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (answer.body if with_body else b"")
