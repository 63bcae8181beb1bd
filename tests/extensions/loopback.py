"""An HTTP server on loopback that answers what the test tells it, and remembers what it was asked."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.closing import stop_listening


@dataclass(slots=True)
class Answer:
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    # Set, the answer waits for it.
    held: asyncio.Event | None = None
    # A provider that is slow by so many seconds before it answers, or before each byte.
    pause: float = 0.0
    drip: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    target: str
    headers: dict[str, str]


def as_json(data: Any, *, pause: float = 0.0) -> Answer:
    return Answer(body=json.dumps(data).encode(), pause=pause)


class Loopback:
    """``answer``: a function of the target. ``asked`` in order."""

    def __init__(self, answer: Callable[[str], Answer]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.most_at_once = self._at_once = 0
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> "Loopback":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        await self._server.wait_closed()

    def url(self, rest: str) -> str:
        return f"http://127.0.0.1:{self.port}{rest}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            asked = Asked(target=head[0].split()[1], headers={name.lower(): value for name, value in headers.items()})
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            answer = self.answer(asked.target)
            if answer.held is not None:
                await answer.held.wait()
            await asyncio.sleep(answer.pause)
            self._at_once -= 1
            lines = [f"HTTP/1.1 {answer.status} OK", f"Content-Length: {len(answer.body)}", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            for piece in [answer.body] if not answer.drip else [bytes([one]) for one in answer.body]:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(answer.drip)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
