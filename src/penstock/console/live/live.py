"""What a process of the service keeps going beside its requests: hearing and telling changes, and counting."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
from fastapi import Request

from penstock.application import Penstock
from penstock.console.http.metrics import Metrics
from penstock.console.live.hearing import Hearing
from penstock.console.live.stream import Hub
from penstock.insight.wording import stage_label
from penstock.observe.changes import Changes

# Hands over what this process counted since the last time, and gets the whole text of the supervisor back.
Supervisor = Callable[[list[list[Any]]], Awaitable[bytes | None]]
_AGAIN_SECONDS = 1.0


class Live:
    """One per service. ``supervisor``: the process that started us, where there is one; its workers are then part of
    what has to be there. ``database_gone`` is called in a thread while the database does not answer."""

    def __init__(
        self, app: Penstock, *, supervisor: Supervisor | None = None, database_gone: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._database_gone = database_gone
        self.needs_workers = supervisor is not None
        self.hub = Hub()
        self.changes = Changes(app.connection)
        self.metrics = Metrics(app, streams=lambda: self.hub.connections, supervisor=supervisor)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the application is open."""
        app = self._app
        labels = {number: stage_label(*names) for names, number in app.stage_ids.items()}
        changes = self.changes
        changes.know(labels)
        self.metrics.counter.know(labels)
        subscribers = (changes.on_event, self.metrics.on_event)
        for subscriber in subscribers:
            app.events.add(subscriber)
        url = await app.database_url()
        loops = [asyncio.create_task(changes.run()), asyncio.create_task(self._hear(url))]
        try:
            yield
        finally:
            self.hub.close()
            for subscriber in subscribers:
                app.events.remove(subscriber)
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await changes.run_once()

    async def _hear(self, url: str) -> None:
        """A fault of ours must not leave every browser with an old picture: it is told, and hearing goes on."""
        while True:
            hearing = Hearing(settings=self._app.settings, url=url, hub=self.hub, database_gone=self._database_gone)
            try:
                await hearing.run()
            except Exception as error:
                structlog.get_logger("penstock.console").error("stream.failed", error=repr(error))
                self.hub.stale("changes are not heard at the moment")
                await asyncio.sleep(_AGAIN_SECONDS)


def live_of(request: Request) -> Live:
    live: Live = request.app.state.live
    return live
