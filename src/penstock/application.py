"""The application object: declares tasks, stores work, opens and closes the database."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import embedded
from penstock.brokers import contracts
from penstock.brokers.budgets import CountedInRedis
from penstock.brokers.contracts import JobHandler
from penstock.config import Settings, load, setting_fields
from penstock.core import enqueue as core_enqueue
from penstock.core import registering
from penstock.core.app import App
from penstock.core.background import BackgroundTask, Decorator, Pipeline
from penstock.core.define import CheckOptions, Offer, PipelineDefinition
from penstock.core.enqueue import EnqueueOptions
from penstock.core.handles import Task, Waiter
from penstock.core.jobs import Job
from penstock.core.retry import RetryPolicy
from penstock.errors import InvalidDefinition, PenstockError, UnknownTask, UsageError
from penstock.events import NAMES, Events
from penstock.extension import Extension
from penstock.loops import LoopState, SideLoop
from penstock.model import Priority
from penstock.schedules import scheduling
from penstock.schedules.scheduling import Missed, ScheduleDefinition
from penstock.storage import database, migrate, stages, tasks
from penstock.storage.database import translated

if TYPE_CHECKING:
    from penstock.control.face import Control
    from penstock.insight.face import Insight

Value = TypeVar("Value")


class Penstock(App):
    """One per program. Declaring tasks needs no database; ``async with app`` or the first enqueue opens it."""

    def __init__(
        self, name: str = "penstock", *, settings: Settings | None = None, events: Events | None = None
    ) -> None:
        self.name = name
        self._given_settings = settings
        self._settings = settings
        self.events = events or Events()
        self.pipelines: dict[str, PipelineDefinition] = {}
        self.schedules: dict[str, ScheduleDefinition] = {}
        self.extensions: dict[str, Extension] = {}
        self.migrations: tuple[migrate.Migration, ...] = ()
        self._declaring: Extension | None = None
        self.stage_ids: dict[tuple[str, str], int] = {}
        self.registers = True
        self._loop_state: LoopState | None = None
        self._server: embedded.EmbeddedServer | None = None
        self._url: str | None = None
        self._side = SideLoop(self._beside)

    @property
    def settings(self) -> Settings:
        """As given, or from the environment as it is when the application is first used after a ``close``."""
        if self._settings is None:
            self._settings = load()
        return self._settings

    def use(self, settings: Settings, events: Events, *, registers: bool = True) -> None:
        """Take another's settings and events; for whoever runs the application before it is opened. ``registers``:
        whether opening it registers its stages and schedules; not for a process that only stores tasks."""
        self._given_settings = self._settings = settings
        self.events = events
        for extension in self.extensions.values():
            events.declare(extension.events, extension.touches)
        self.registers = registers

    # ---------------------------------------------------------------- steering and looking

    @cached_property
    def control(self) -> "Control":
        """What people may do: ``await app.control.jobs.pause(7, by="ann")``."""
        from penstock.control.face import Control  # late: a worker needs none of it

        return Control(self)

    @cached_property
    def insight(self) -> "Insight":
        """What people may see: ``await app.insight.why(task_id)``."""
        from penstock.insight.face import Insight

        return Insight(self)

    # ---------------------------------------------------------------- declaring

    def install(self, extension: Extension, **given: Any) -> Any:
        """Take over all that an extension brings. Its own ``install`` gets ``given``, and what it returns is returned.
        Raises :class:`InvalidExtension`, and has nothing of it then."""
        if not isinstance(extension, Extension):
            raise UsageError(f"app.install takes a penstock.Extension, not a {type(extension).__name__}.")
        extension.fits(self.name, self.extensions.values(), NAMES)
        migrate.migrations_of([*self.extensions.values(), extension])
        if (settings := extension.find(extension.settings)) is not None:
            for other in self.extensions.values():
                for name in sorted(setting_fields([settings]).keys() & setting_fields(other.settings_found()).keys()):
                    raise extension.refused(f"its setting {name!r} belongs to the extension {other.name!r}")
            self.settings.of(settings)
        registries: tuple[dict[str, Any], ...] = (self.pipelines, self.schedules, self.extensions)
        before, outer = [set(registry) for registry in registries], self._declaring
        self._declaring = self.extensions[extension.name] = extension
        try:
            installed = None if extension.install is None else extension.find(extension.install)(self, **given)
        except BaseException as error:
            for registry, kept in zip(registries, before, strict=True):
                for name in registry.keys() - kept:
                    del registry[name]
            self.migrations = migrate.migrations_of(self.extensions.values())
            if isinstance(error, PenstockError) or not isinstance(error, Exception):
                raise
            raise extension.refused(f"its install function failed: {type(error).__name__}: {error}") from error
        finally:
            self._declaring = outer
        if outer is None:  # one that installs others takes them back where it fails
            for one in self.extensions.values():
                self.events.declare(one.events, one.touches)
        self.migrations = migrate.migrations_of(self.extensions.values())
        return installed

    def task(
        self,
        *,
        name: str | None = None,
        isolated: bool = False,
        pool: int | None = None,
        order: int | None = None,
        batch: int | None = None,
        throttle: int | None = None,
        poll: float | timedelta | None = None,
        timeout: float | timedelta | None = None,
        max_attempts: int | None = None,
        max_running: int | None = None,
        retry: RetryPolicy | None = None,
        priority: int | str | Priority = Priority.NORMAL,
        lane: str | None = None,
        result_columns: Sequence[str] = (),
        internal: bool = False,
    ) -> Decorator:
        """Make a function a background task.

        Async functions run on the loop, plain ones in threads, ``isolated`` ones in a process of their own.
        ``max_running`` is exact over the whole fleet; ``pool`` is per runner process. ``order``: lower ones are
        served first; ``batch``: most rows of a claim; ``throttle``: most starts per coordination cycle;
        ``poll``: longest pause of an idle worker between two looks. ``result_columns``: what the results of a task that
        takes rows of files hold, as grids and exports show it. ``internal``: only code enqueues it; over HTTP nobody
        submits jobs of it, and its dead letters are replayed as they are.
        """

        def make(function: Callable[..., Any]) -> BackgroundTask[Any, Any]:
            definition = self._new_pipeline(name or function.__name__, result_columns, internal=internal)
            policy = {"isolated": isolated, "pool": pool, "timeout": timeout, "retry": retry, "throttle": throttle}
            policy |= {"max_attempts": max_attempts, "max_running": max_running, "order": order, "batch": batch}
            policy["poll"] = poll
            definition.add_stage(function, definition.name, **policy)
            return BackgroundTask(self, definition, function, EnqueueOptions(priority=priority, lane=lane))

        return Decorator(make)

    def pipeline(
        self,
        name: str,
        *,
        priority: int | str | Priority = Priority.NORMAL,
        result_columns: Sequence[str] = (),
        offer: Offer | None = None,
        check_options: CheckOptions | None = None,
    ) -> Pipeline:
        """An ordered list of stages; add them with ``@pipeline.stage()``. ``offer``: for people who bring it a file.

        ``check_options`` is called with ``metadata["options"]`` of every job before it is stored, wherever it comes
        from. It raises a ``UsageError``, or returns options that replace those given; others stay.
        """
        definition = self._new_pipeline(name, result_columns, offer=offer, check_options=check_options)
        return Pipeline(self, definition, EnqueueOptions(priority=priority))

    def add_handler(self, handler: JobHandler) -> None:
        """Make a stage of a ``JobHandler``: its ``type`` is the name, its class attributes are the policy."""
        policy = contracts.policy_of(handler)
        made = self._new_pipeline(handler.type, ())
        made.add_stage(contracts.stage_function(self, handler), made.name, **policy)

    def schedule(
        self,
        cron: str,
        task: "BackgroundTask[Any, Any] | Pipeline",
        *,
        name: str | None = None,
        timezone: str = "UTC",
        missed: Missed = "one",
        arguments: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Enqueue the task at the times of a cron expression, once per time in the whole fleet.

        ``options``: priority, lane, owner, unique_key, max_attempts, timeout. With a unique key, fires do not pile up
        while nobody serves the task.
        """
        chosen = name or task.name
        if chosen in self.schedules:
            raise InvalidDefinition(what=f"Schedule {chosen!r}", problem="there is another one of that name")
        values = task.pipeline.first.arguments.check(arguments or {})
        self.schedules[chosen] = ScheduleDefinition(
            name=chosen,
            cron=cron,
            timezone=timezone,
            pipeline=task.name,
            input=values,
            options=options or {},
            missed=missed,
        )

    def _new_pipeline(self, name: str, result_columns: Sequence[str], **told: Any) -> PipelineDefinition:
        if not name or len(name) > 200 or "\0" in name:
            raise InvalidDefinition(what=f"Task {name[:50]!r}", problem="its name has to have 1 to 200 characters")
        if name in self.pipelines:
            raise InvalidDefinition(what=f"Task {name!r}", problem="there is another one of that name; pass name=…")
        owner = "" if self._declaring is None else self._declaring.owner or self._declaring.name
        made = PipelineDefinition(name, owner=owner, result_columns=tuple(result_columns), **told)
        return self.pipelines.setdefault(name, made)

    # ---------------------------------------------------------------- open and close

    async def open(self) -> None:
        """Connect, start the embedded server where no URL is set, and register the declared stages."""
        here = self._here()
        if here.pool is None:
            async with here.opening:
                await self._open(here)

    async def _open(self, here: LoopState) -> None:
        if here.pool is not None:
            return
        if here.after_unclosed:
            await self._leave()
            here.after_unclosed = False
        url = await self.database_url()
        pool = await database.pool(self.settings, url, purpose=f"app {self.name}", size=10)
        try:
            with translated(url):
                async with pool.acquire() as connection:
                    if self._server is not None:
                        await migrate.migrate(connection, self.migrations)
                    await migrate.check(connection, self.migrations)
                    if self.registers:
                        await registering.register(self, connection)
                        await scheduling.declare(connection, self.schedules.values(), source=self.name)
                    else:
                        await registering.read(self, connection)
        except BaseException:
            pool.terminate()
            raise
        here.pool = pool

    async def close(self) -> None:
        """It can be opened again, also in another event loop."""
        here = self._here()
        await here.close()
        if not here.in_use:  # somebody may have opened it meanwhile
            self._loop_state = None
        await self._leave()

    async def _leave(self) -> None:
        """What does not belong to the event loop."""
        await asyncio.to_thread(self._side.close)
        self._url, self._settings = None, self._given_settings
        self.stage_ids.clear()  # the next database has others
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.release)

    def _here(self) -> LoopState:
        """Of the running event loop. What a loop leaves behind that ended without ``close`` cannot be used any more."""
        state, loop = self._loop_state, asyncio.get_running_loop()
        if state is not None and state.loop is loop:
            return state
        if state is not None and state.in_use:
            raise UsageError(
                f"Application {self.name!r} is open in another event loop. Close it there first, or make one"
                " application per loop; threads without a loop use enqueue_sync."
            )
        self._loop_state = LoopState(self, loop, after_unclosed=state is not None)
        return self._loop_state

    @property
    def waiter(self) -> Waiter:
        return self._here().waiter

    @property
    def counted_in_redis(self) -> CountedInRedis:
        return self._here().counted_in_redis

    async def __aenter__(self) -> "Penstock":
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def database_url(self) -> str:
        """The configured server, or the embedded one, started on demand."""
        if self._url is None:
            if (url := self.settings.url) is None:
                self._server = await asyncio.to_thread(embedded.acquire, self.settings.home)
                url = self._server.url
            self._url = url
        return self._url

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection of the application's own pool, with driver errors turned into sentences."""
        here = self._here()
        if here.pool is None:
            await self.open()
        assert here.pool is not None
        with translated(self._url):
            async with here.pool.acquire() as connection:
                yield connection

    # ---------------------------------------------------------------- storing

    store = core_enqueue.enqueue
    store_many = core_enqueue.enqueue_many
    store_rows = core_enqueue.enqueue_rows

    async def enqueue(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Task[Any]:
        """By name, for callers that do not import the task. A task that is not declared here is not checked here."""
        chosen = EnqueueOptions(**options)
        if (pipeline := self.pipelines.get(name)) is not None:
            return await self.store(pipeline, pipeline.first.arguments.check(arguments or {}), chosen)
        try:
            return await self.store(PipelineDefinition(name), arguments or {}, chosen)
        except UnknownTask:
            async with self.connection() as connection:
                known = {row["pipeline"] for row in await stages.listing(connection)}
            raise UnknownTask(name, known | set(self.pipelines)) from None

    def hint_due(self, pipeline: str) -> bool:
        return self._here().hint_due(pipeline)

    def on_side_loop(self, work: Callable[[App], Coroutine[Any, Any, Value]]) -> Value:
        """From code without an event loop."""
        return self._side.call(work)

    def task_by_id(self, task_id: int) -> Task[Any]:
        return Task(self, task_id)

    def job_by_id(self, job_id: int) -> Job:
        return Job(self, job_id)

    async def wake_all(self) -> None:
        """Tell the workers to look: after a resume or a reprocess."""
        async with self.connection() as connection:
            await tasks.wake(connection, "")

    def _beside(self) -> "Penstock":
        """The same application once more, for the loop of `enqueue_sync`."""
        side = Penstock(self.name, settings=self.settings, events=self.events)
        side.pipelines, side.schedules, side.extensions = self.pipelines, self.schedules, self.extensions
        side.registers, side._url, side.migrations = self.registers, self._url, self.migrations
        return side
