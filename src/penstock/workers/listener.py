"""Listens for the hint that something was enqueued. A hint, never the truth: polling goes on without it."""

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.config import Settings
from penstock.core.outage import LinkWatch
from penstock.events import Events
from penstock.storage.database import DATABASE_FAULTS, Link

CHANNEL = "penstock_wake"
_CHECK_SECONDS = 5.0


class Listener:
    def __init__(
        self,
        *,
        settings: Settings,
        url: str,
        pipelines: frozenset[str],
        hint: Callable[[bool], None],
        events: Events,
    ) -> None:
        """``hint``: told whether it is about everything, or only about what was enqueued."""
        self._link = Link(settings, url, purpose="listen")
        self._pipelines = pipelines
        self._hint = hint
        self._watch = LinkWatch(events, "listen")

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._listen()
                except DATABASE_FAULTS as error:
                    self._watch.lost(error)
                    self._link.drop()
                    await asyncio.sleep(0.5)
        finally:
            self._link.drop()

    async def _listen(self) -> None:
        connection = await self._link.connection()
        await connection.add_listener(CHANNEL, self._heard)
        self._watch.works()
        self._hint(False)  # what came while nobody listened
        while not connection.is_closed():
            await asyncio.sleep(_CHECK_SECONDS)
            await connection.fetchval("select 1")
        raise ConnectionResetError("the server closed the connection")

    def _heard(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        if not payload or payload in self._pipelines:
            self._hint(not payload)
