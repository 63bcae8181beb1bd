"""A server on loopback that speaks the embeddings API with the vectors of the built-in model, and misbehaves on demand.

    async with EmbeddingServer() as server:
        path = embedders_file(tmp_path, embedder_table("outside", server.url))
        settings = load(..., articles_embedders_file=path); environment: KEY_VARIABLE = KEY
        server.down = True          # connections end without an answer; `await server.stop()` refuses them
        server.throttles = 2        # the next two calls get 429 with `retry_after`
        server.status = 500         # every call gets it, with `code` and `message`; None: as usual
        server.refuses = "marker"   # 400 for a call with a text that contains it
        server.pause_seconds = 1.0  # slow; or server.held = asyncio.Event()
        server.dimensions = 128     # other dimensions than were promised

``calls`` counts every call that came in, ``texts`` remembers every text of them, ``embedded`` those that were answered.
"""

import asyncio
import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.closing import stop_listening
from penstock.language.embedding import DIMENSIONS, Embedder, Vectors

KEY = "sk-test-0f1e2d3c4b5a69788796"
KEY_VARIABLE = "TEST_EMBEDDING_KEY"
MODEL = "test-embedding-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    status: int
    body: bytes
    headers: dict[str, str]


class EmbeddingServer:
    """All switches may be moved while it runs; the next call sees them."""

    def __init__(self, *, key: str | None = KEY, model: str = MODEL, dimensions: int = DIMENSIONS) -> None:
        self.key = key
        self.model = model
        self.dimensions = dimensions
        self.down = False
        self.throttles = 0
        self.retry_after: str | None = "1"
        self.status: int | None = None
        self.code: str | None = None
        self.message = "no"
        self.refuses: str | None = None
        self.pause_seconds = 0.0
        self.held: asyncio.Event | None = None
        self.encoding = "float"
        self.shuffled = False
        # Sent instead of the vectors, or of the refusal.
        self.raw: bytes | None = None
        self.asked: list[Asked] = []
        self.texts: list[str] = []
        self.embedded: list[str] = []
        self.most_at_once = self._at_once = 0
        self.port = 0
        self._embedder = Embedder.load()
        self._server: asyncio.Server | None = None

    @property
    def calls(self) -> int:
        return len(self.asked)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> "EmbeddingServer":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Again after ``stop``: at the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=16 * 1024 * 1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Connections are refused from now on."""
        server, self._server = self._server, None
        if server is not None:
            await stop_listening(server)
            await server.wait_closed()

    def vectors(self, texts: list[str]) -> Vectors:
        """What it answers: the built-in model's rows, cut or filled up with zeros to ``dimensions``."""
        rows = self._embedder.embed(texts)[:, : self.dimensions]
        wide = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        wide[:, : rows.shape[1]] = rows
        return wide

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read(reader)
            self.asked.append(asked)
            if not self.down:
                await self._answer(asked, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.held is not None:
                await self.held.wait()
            await asyncio.sleep(self.pause_seconds)
            said = self._said(asked)
        finally:
            self._at_once -= 1
        lines = [f"HTTP/1.1 {said.status} OK", f"Content-Length: {len(said.body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in said.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + said.body)
        await writer.drain()

    def _said(self, asked: Asked) -> Said:
        given = asked.body.get("input", [])
        texts = [given] if isinstance(given, str) else list(given)
        self.texts += texts
        key = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if asked.path != "/v1/embeddings":
            return _refusal(404, "no such path")
        if self.key is not None and key != self.key:
            return _refusal(401, f"Incorrect API key provided: {key}.", "invalid_api_key")
        if self.throttles > 0:
            self.throttles -= 1
            wait = {} if self.retry_after is None else {"Retry-After": self.retry_after}
            return _refusal(429, "Slow down.", "rate_limit_exceeded", wait)
        if self.status is not None:
            if self.raw is not None:
                return Said(status=self.status, body=self.raw, headers={})
            return _refusal(self.status, self.message, self.code)
        if asked.body.get("model") != self.model:
            return _refusal(404, f"The model {asked.body.get('model')} does not exist.", "model_not_found")
        if self.refuses is not None and any(self.refuses in text for text in texts):
            return _refusal(400, "The input cannot be embedded.", "invalid_input")
        self.embedded += texts
        return Said(status=200, body=self.raw if self.raw is not None else self._body(texts), headers={})

    def _body(self, texts: list[str]) -> bytes:
        rows = [self._row(index, row) for index, row in enumerate(self.vectors(texts))]
        if self.shuffled:
            rows.reverse()
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return json.dumps({"object": "list", "data": rows, "model": self.model, "usage": usage}).encode()

    def _row(self, index: int, row: Any) -> dict[str, Any]:
        packed = base64.b64encode(row.astype("<f4").tobytes()).decode()
        vector = packed if self.encoding == "base64" else [float(one) for one in row]
        return {"object": "embedding", "index": index, "embedding": vector}


def embedder_table(name: str, url: str | None, **more: Any) -> str:
    """One ``[[embedder]]`` of an embedders file; None leaves a field out."""
    usual = {
        "name": name,
        "kind": "openai",
        "url": url,
        "model": MODEL,
        "dimensions": DIMENSIONS,
        "key_variable": KEY_VARIABLE,
    }
    lines = [f"{field} = {json.dumps(value)}" for field, value in (usual | more).items() if value is not None]
    return "\n".join(["[[embedder]]", *lines, "", ""])


def embedders_file(folder: Path, *tables: str) -> Path:
    path = folder / "embedders.toml"
    path.write_text("\n".join(tables))
    return path


def _refusal(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> Said:
    error = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return Said(status=status, body=json.dumps(error).encode(), headers=headers or {})


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(path=head[0].split()[1], headers=headers, body=json.loads(body or b"{}"))
