"""What a process of the service keeps going beside its requests: hearing and telling changes, and counting."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
import structlog
from fastapi import Request

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.http.metrics import Metrics
from penstock.console.live.stream import BURST, Hub
from penstock.observe.changes import Changes
from penstock.observe.wording import stage_label
from penstock.storage import changes
from penstock.storage.database import DATABASE_FAULTS, Link

EVERY_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0
# A revoked token ends its streams within 30 s: this, and the time of a round.
CHECK_SECONDS = 20.0
_PROBE_SECONDS = 2.0
_PROBE_TIMEOUT_SECONDS = 3.0
_LISTEN_AGAIN_SECONDS = 0.5
_POLL_SECONDS = 5.0
_OWNERS = 50_000


class Hearing:
    """Hears what changed, on one connection, and tells the hub: at most ten times a second per object. A hint, as every
    NOTIFY: what was said while nobody listened is made good by a ``reset``.

    ``run`` until cancelled. ``database_gone`` is called in a thread while the database does not answer."""

    def __init__(
        self, *, settings: Settings, url: str, hub: Hub, database_gone: Callable[[], None] = lambda: None
    ) -> None:
        self._link = Link(settings, url, purpose="stream")
        self._listens = settings.listen
        self._hub = hub
        self._database_gone = database_gone
        self._owners: OrderedDict[int, str | None] = OrderedDict()
        self._stages: dict[str, dict[str, int]] = {}
        self._jobs: set[int] = set()
        self._objects: set[tuple[str, str]] = set()
        self._complete = True
        self._something = asyncio.Event()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as loops:
                for loop in (self._hear(), self._beat(), self._check()):
                    loops.create_task(loop)
        finally:
            self._link.drop()

    async def _hear(self) -> None:
        while True:
            try:
                await self._listen()
            except DATABASE_FAULTS:
                self._link.drop()
                self._hub.stale("the database does not answer")
                await asyncio.to_thread(self._database_gone)
                await asyncio.sleep(_LISTEN_AGAIN_SECONDS)

    async def _listen(self) -> None:
        connection = await self._link.connection()
        if self._listens:
            # Woken also by the end of the connection: a server that goes away is noticed at once.
            connection.add_termination_listener(lambda _: self._something.set())
            await connection.add_listener(changes.CHANNEL, self._heard)
        await changes.clock(connection)
        self._hub.live()
        while not connection.is_closed():
            if await self._woken(_PROBE_SECONDS if self._listens else _POLL_SECONDS):
                if connection.is_closed():
                    break
                await self.run_once()
                await asyncio.sleep(EVERY_SECONDS)
                continue
            async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
                await changes.clock(connection)
            if not self._listens:
                self._hub.reset("changes are not heard behind this pooler")
        raise ConnectionResetError("the server closed the connection")

    async def _woken(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._something.wait()
        except TimeoutError:
            return False
        return True

    async def run_once(self) -> int:
        """Publish what was gathered; returns how many stages, jobs and objects that were."""
        self._something.clear()
        stages, jobs, objects, complete = self._stages, self._jobs, self._objects, self._complete
        self._stages, self._jobs, self._objects, self._complete = {}, set(), set(), True
        many = len(stages) + len(jobs) + len(objects)
        if not complete or many > BURST:
            self._hub.reset("more changed than can be told one by one")
            return many
        for stage, moves in stages.items():
            self._hub.publish("stage", {"stage": stage, "moves": moves}, public=True)
        owners = await self._owners_of(jobs)
        for job in sorted(owners):
            self._hub.publish("job", {"jobId": job, "owner": owners[job]}, owner=owners[job])
        for kind, name in sorted(objects):
            self._hub.publish("object", {"type": kind, "id": name}, public=True)
        return many

    def _heard(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        """Anybody who may connect may send on a channel, so what cannot be read is passed over."""
        try:
            message = orjson.loads(str(payload))
            stages, jobs = dict(message["stages"]), {job for job in map(int, message["jobs"]) if 0 < job < 2**63}
            objects = {(str(kind), str(name)) for kind, name in message.get("objects", ())}
            for stage, moves in stages.items():
                known = self._stages.setdefault(str(stage), {})
                for move, count in moves.items():
                    known[str(move)] = known.get(str(move), 0) + int(count)
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        self._jobs |= jobs
        self._objects |= objects
        self._complete = self._complete and bool(message.get("complete"))
        self._something.set()

    async def _owners_of(self, jobs: set[int]) -> dict[int, str | None]:
        """The owner of a job never changes, so it is asked for once. A job that is gone is not told."""
        unknown = [job for job in jobs if job not in self._owners]
        if unknown:
            async with self._link.guarded() as connection:
                self._owners.update(await changes.owners(connection, unknown))
        found = {job: self._owners[job] for job in jobs if job in self._owners}
        for job in found:
            self._owners.move_to_end(job)
        while len(self._owners) > _OWNERS:
            self._owners.popitem(last=False)
        return found

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self._hub.beat()

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            # Where nobody can say now who may listen, nothing is heard either: asked again in the next round.
            with suppress(*DATABASE_FAULTS):
                await self._hub.check()


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
