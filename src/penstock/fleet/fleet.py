"""Puts a supervisor together: settings, database and application reference in, everything a worker needs out."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from penstock.config import Settings
from penstock.embedded import EmbeddedServer
from penstock.errors import DatabaseError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.process import Blueprint
from penstock.fleet.supervisor import Supervisor
from penstock.observe.exposition import Exposition, RunnerView
from penstock.observe.observers import observers
from penstock.storage.database import DATABASE_FAULTS, connect
from penstock.storage.dialer import require_writes
from penstock.upkeep.duties import all_duties


class Fleet:
    """The workers of one machine: a supervisor, what it counts, and whether it is ready."""

    def __init__(
        self,
        *,
        settings: Settings,
        url: str,
        app: str,
        only: Sequence[str] = (),
        server: EmbeddedServer | None = None,
        extensions: Sequence[str] = (),
    ) -> None:
        """``extensions``: functions, as module:name, that declare further tasks in the application of every runner."""
        self._settings = settings
        self._url = url
        self._server = server
        counter, subscribers = observers(settings)
        self._events = Events(subscribers)
        failpoints = Failpoints.from_environment()
        self.exposition = Exposition(counter=counter, connect=self.connection, runners=self.runners)
        self.supervisor = Supervisor(
            settings=settings,
            blueprint=Blueprint(
                app=app,
                url=url,
                only=tuple(only),
                extensions=tuple(extensions),
                settings=settings.handed_on(),
            ),
            events=self._events,
            failpoints=failpoints,
            duties=all_duties(settings, self._events, failpoints),
            counted=self.exposition.counted,
            database_gone=self._database_gone,
        )

    async def run(self) -> None:
        """Until ``stop``; returns when every runner has ended."""
        await self.supervisor.run()

    def stop(self) -> None:
        self.supervisor.stop()

    def kill(self) -> None:
        """Do not wait for handlers any more: their tasks are handed back, nothing is burned."""
        for runner in self.supervisor.runners:
            runner.kill("the worker was told twice to stop")

    async def unready(self) -> str | None:
        """Why no work can be done right now, or None."""
        try:
            async with self.connection() as connection:
                await require_writes(connection)
        except DATABASE_FAULTS as error:
            return str(error) or type(error).__name__
        return None if self.supervisor.ready else "not all runners have started yet"

    def runners(self) -> list[RunnerView]:
        return [
            RunnerView(
                worker=runner.worker,
                status=runner.status,
                ready=runner.ready.is_set() and runner.exit_code is None,
                told_at=runner.told_at,
            )
            for runner in self.supervisor.runners
        ]

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A short one for a request that looks: the supervisor's own connections are never shared."""
        opened = await connect(self._settings, self._url, purpose="metrics")
        try:
            yield opened
        finally:
            opened.terminate()

    def _database_gone(self) -> None:
        """Runs in a thread, again and again while the database does not answer."""
        if self._server is None:
            return
        try:
            self._server.ensure_running()
        except DatabaseError as error:
            self._events.emit("worker.silent", error=str(error), next_step="the embedded server is tried again")
