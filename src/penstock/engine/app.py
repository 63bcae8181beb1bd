"""The application object: declares tasks, stores work, opens and closes the database."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg

from penstock.config import Settings, load
from penstock.contracts import JobHandler
from penstock.engine import fan_in, foreign, handling, registering
from penstock.engine.background import BackgroundTask, Decorator, Pipeline
from penstock.engine.counted_in_redis import CountedInRedis
from penstock.engine.definition import CheckOptions, PipelineDefinition, define_stage
from penstock.engine.enqueue import EnqueueOptions, encoded_rows, prepare, store_many, with_trace
from penstock.engine.events import Events
from penstock.engine.handles import Task, Waiter
from penstock.engine.jobs import Job
from penstock.engine.loop_state import LoopState
from penstock.engine.offer import Offer
from penstock.engine.registering import first_stage
from penstock.engine.retry import RetryPolicy
from penstock.engine.schedule import Missed, ScheduleDefinition
from penstock.engine.side_loop import SideLoop
from penstock.errors import InvalidDefinition, UnknownTask, UsageError
from penstock.model import Priority
from penstock.storage import database, embedded, migrate, stages, tasks
from penstock.storage.database import translated


class Penstock:
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
        self.registers = registers

    # ---------------------------------------------------------------- declaring

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
            self.add_stage(definition, function, definition.name, policy)
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

    def add_stage(
        self, pipeline: PipelineDefinition, function: Callable[..., Any], name: str, policy: Mapping[str, Any]
    ) -> None:
        if any(stage.name == name for stage in pipeline.stages):
            raise InvalidDefinition(what=f"Pipeline {pipeline.name!r}", problem=f"it has two stages called {name!r}")
        position = len(pipeline.stages)
        pipeline.stages.append(define_stage(function, pipeline=pipeline.name, name=name, position=position, **policy))

    def add_handler(self, handler: JobHandler) -> None:
        """Make a stage of a ``JobHandler``: its ``type`` is the name, its class attributes are the policy."""
        handling.declare(self, handler)

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
        return self.pipelines.setdefault(name, PipelineDefinition(name, result_columns=tuple(result_columns), **told))

    # ---------------------------------------------------------------- open and close

    async def open(self) -> None:
        """Connect, start the embedded server where no URL is set, and register the declared stages."""
        here = self._here()
        async with here.opening:
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
                            await migrate.migrate(connection)
                        await migrate.check(connection)
                        await (registering.register if self.registers else registering.read)(self, connection)
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

    async def store(
        self, pipeline: PipelineDefinition, values: Mapping[str, Any], options: EnqueueOptions, connection: Any = None
    ) -> Task[Any]:
        here = self._here()
        if here.pool is None:
            await self.open()
        options = with_trace(options)
        if connection is None:
            task = prepare(pipeline, values, options, notify=here.hints.due(pipeline.name))
            async with self.connection() as own:
                await first_stage(self, own, pipeline)
                stored = await tasks.enqueue(own, task)
        elif isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
            with translated():
                await first_stage(self, connection, pipeline)
                stored = await tasks.enqueue(connection, prepare(pipeline, values, options))
        else:
            await registering.ensure(self, pipeline)
            stored = await foreign.enqueue_on(connection, prepare(pipeline, values, options))
        self.events.emit("tasks.enqueued", pipeline=pipeline.name, count=1, tasks=[stored[0]], created=stored[1])
        return Task(self, *stored, pipeline)

    def store_sync(
        self, pipeline: PipelineDefinition, values: Mapping[str, Any], options: EnqueueOptions, connection: Any = None
    ) -> Task[Any]:
        options = with_trace(options)
        if connection is None:
            stored = self._side.call(lambda side: side.store(pipeline, values, options))
            return Task(self, stored.id, stored.created, pipeline)
        self._side.call(lambda side: registering.ensure(side, pipeline))
        return Task(self, *foreign.enqueue_on_sync(connection, prepare(pipeline, values, options)), pipeline)

    async def store_many(
        self,
        pipeline: PipelineDefinition,
        rows: Iterable[Mapping[str, Any]],
        options: EnqueueOptions,
        *,
        name: str | None,
        metadata: Mapping[str, Any],
        connection: Any = None,
        callback: fan_in.Callback | None = None,
    ) -> Job:
        if self._here().pool is None:
            await self.open()
        options = with_trace(options)

        async def write(target: Any) -> Job:
            stored = await store_many(
                target,
                pipeline=pipeline,
                stage=await first_stage(self, target, pipeline),
                max_attempts=pipeline.first.max_attempts or self.settings.max_attempts_error,
                rows=encoded_rows(pipeline, rows),
                options=options,
                name=name,
                metadata=metadata,
            )
            if callback is not None:
                await first_stage(self, target, callback.pipeline)
            await fan_in.keep(target, stored, options, callback)
            self.events.emit("tasks.enqueued", pipeline=pipeline.name, count=stored.count, job=stored.job_id)
            return Job(self, stored.job_id, stored.count, stored.created)

        if connection is not None:
            if not isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
                raise UsageError("enqueue_many takes an asyncpg connection; with others, enqueue one by one or by SQL.")
            with translated():
                async with connection.transaction():
                    return await write(connection)
        async with self.connection() as own, own.transaction():
            return await write(own)

    async def store_rows(
        self, connection: Any, pipeline: PipelineDefinition, rows: Iterable[str], options: EnqueueOptions
    ) -> int:
        """Encoded inputs into a job that exists, in the transaction open on ``connection``; returns how many."""
        stored = await store_many(
            connection,
            pipeline=pipeline,
            stage=await first_stage(self, connection, pipeline),
            max_attempts=pipeline.first.max_attempts or self.settings.max_attempts_error,
            rows=rows,
            options=options,
            name=None,
            metadata={},
        )
        self.events.emit("tasks.enqueued", pipeline=pipeline.name, count=stored.count, job=stored.job_id)
        return stored.count

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
        side.pipelines, side.schedules = self.pipelines, self.schedules
        side.registers, side._url = self.registers, self._url
        return side
