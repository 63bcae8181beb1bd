"""An application whose stages go over one of the transports, and a worker inside the test's process."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from penstock import Penstock
from penstock import brokers as transports
from penstock.brokers.stage_transports import queue_name
from penstock.brokers.transport import Transport
from penstock.config import load
from penstock.events import Event, Events
from penstock.storage import relay
from penstock.workers.inprocess import InProcessWorker

TRANSPORTS = ("postgres", "redis", "rabbitmq")
BROKERS = ("redis", "rabbitmq")
QUICK = {
    "heartbeat_seconds": 0.2,
    "lease_seconds": 2.0,
    "poll_max_seconds": 0.2,
    "grace_seconds": 1.0,
    "health_seconds": 3600,
    "broker_patience_seconds": 1.0,
    "resend_seconds": 2.0,
    "resend_every_seconds": 0.5,
}


@dataclass(slots=True, kw_only=True)
class World:
    app: Penstock
    transport: str
    prefix: str
    heard: list[Event] = field(default_factory=list)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event.data for event in self.heard if event.name == name]

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[InProcessWorker]:
        async with InProcessWorker(self.app, **options) as worker:
            yield worker

    @asynccontextmanager
    async def broker(self) -> AsyncIterator[Transport]:
        made = await transports.opened(self.transport, self.app.settings)
        try:
            yield made
        finally:
            await made.close()

    async def queue(self, pipeline: str, stage: str | None = None) -> str:
        await self.app.open()
        async with self.app.connection() as connection:
            installation = await relay.installation(connection)
        return queue_name(self.app.settings, installation, self.app.stage_ids[(pipeline, stage or pipeline)])

    async def value(self, query: str, *arguments: Any) -> Any:
        async with self.app.connection() as connection:
            return await connection.fetchval(query, *arguments)


def made_world(database_url: str, transport: str, broker_url: str | None, **settings: Any) -> World:
    prefix = f"test{uuid4().hex[:10]}"
    chosen: dict[str, Any] = {**QUICK, "transport": transport, "broker_prefix": prefix, **settings}
    if broker_url is not None:
        chosen[f"{transport}_url"] = broker_url
    heard: list[Event] = []
    app = Penstock(
        "test", settings=load(database_url=database_url, limiter="postgres", **chosen), events=Events([heard.append])
    )
    return World(app=app, transport=transport, prefix=prefix, heard=heard)


async def eventually(condition: Callable[[], Awaitable[Any]], *, what: str, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := await condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        await asyncio.sleep(0.02)
    return answer
