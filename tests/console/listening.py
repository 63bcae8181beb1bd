"""The service on a real socket, and clients that listen to its stream."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson

from penstock.config import Settings
from penstock.console.http.listening import address_of, bind
from penstock.console.http.server import Server
from penstock.console.live.live import Live
from tests.console.conftest import Service

SECONDS = 60.0


@dataclass
class Event:
    kind: str
    data: dict[str, Any]
    id: str


@dataclass
class Listener:
    """Reads events one by one; ``until`` gives those up to the first that fits."""

    answer: httpx2.Response
    _lines: AsyncIterator[str] = field(init=False)
    last_id: str = ""
    beats: int = 0

    def __post_init__(self) -> None:
        self._lines = self.answer.aiter_lines()

    async def __anext__(self) -> Event:
        kind, data = "", ""
        async with asyncio.timeout(SECONDS):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                match name:
                    case "event":
                        kind = value
                    case "data":
                        data = value
                    case "id":
                        self.last_id = value
                if not line and kind == "beat":
                    self.beats += 1
                elif not line and data:
                    return Event(kind, orjson.loads(data), self.last_id)
        raise StopAsyncIteration

    async def until(self, kind: str, **data: Any) -> list[Event]:
        seen = []
        while True:
            event = await anext(self)
            seen.append(event)
            if event.kind == kind and data.items() <= event.data.items():
                return seen

    async def end(self) -> list[Event]:
        """All that still comes until the server ends it."""
        seen = []
        while True:
            try:
                seen.append(await anext(self))
            except StopAsyncIteration:
                return seen

    def __aiter__(self) -> "Listener":
        return self


@dataclass
class Running:
    service: Service
    server: Server
    address: str
    serving: asyncio.Task[None]

    @property
    def live(self) -> Live:
        live: Live = self.service.api.state.live
        return live

    def client(self, name: str | None, **more: Any) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {self.service.tokens[name]}"} if name else {}
        # Nothing to verify, and reading the certificates takes longer than all the rest.
        return httpx2.AsyncClient(base_url=self.address, headers=headers, timeout=SECONDS, verify=False, **more)

    @asynccontextmanager
    async def listening(self, name: str, last_id: str | None = None, query: str = "") -> AsyncIterator[Listener]:
        """Once it is connected: the first event, which says so, has been read."""
        headers = {"Last-Event-ID": last_id} if last_id is not None else {}
        async with self.client(name) as client, client.stream("GET", f"/api/stream{query}", headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            listener = Listener(answer)
            if last_id is None:
                assert (await anext(listener)).kind in ("live", "stale")
            yield listener


@asynccontextmanager
async def running(service: Service, **settings: Any) -> AsyncIterator[Running]:
    chosen = Settings(**{"database_url": "postgresql://unused/unused", **settings})
    socket = bind("127.0.0.1", 0)
    server = Server(service.api, chosen)
    address = address_of(socket)
    serving = asyncio.create_task(server.serve(sockets=[socket]))
    try:
        yield Running(service, server, address, serving)
    finally:
        server.kill()
        await asyncio.wait_for(serving, SECONDS)
