"""The application object: declares tasks, stores work, opens and closes the database."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import asyncpg

from penstock.config import Settings, load
from penstock.contracts import JobHandler
from penstock.engine import fan_in, foreign, handling, scheduling
from penstock.engine.background import BackgroundTask, Decorator, Pipeline
from penstock.engine.counted_in_redis import CountedInRedis
from penstock.engine.definition import PipelineDefinition, define_stage
from penstock.engine.enqueue import EnqueueOptions, Hints, encoded_rows, prepare, store_many, with_trace
from penstock.engine.events import Events
from penstock.engine.handles import Task, Waiter
from penstock.engine.jobs import Job
from penstock.engine.offer import Offer
from penstock.engine.retry import RetryPolicy
from penstock.engine.schedule import Missed, ScheduleDefinition
from penstock.errors import InvalidDefinition, UnknownTask, UsageError
from penstock.model import Priority
from penstock.storage import database, embedded, migrate, stages, tasks
from penstock.storage.database import translated
from penstock.storage.stages import Declared

Value = TypeVar("Value")


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
        self.waiter = Waiter(self)
        self.counted_in_redis = CountedInRedis(self)
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()
        self._server: embedded.EmbeddedServer | None = None
        self._url: str | None = None
        self._hints = Hints(self._hint_later)
        self._background: set[asyncio.Task[None]] = set()
        self._side_loop: asyncio.AbstractEventLoop | None = None
        self._side: Penstock | None = None
        self._side_thread: threading.Thread | None = None
        self._side_lock = threading.Lock()

    @property
    def settings(self) -> Settings:
        """As given, or from the environment as it is when the application is first used after a ``close``."""
        if self._settings is None:
            self._settings = load()
        return self._settings

    def use(self, settings: Settings, events: Events) -> None:
        """Take another's settings and events; for whoever runs the application before it is opened."""
        self._given_settings = self._settings = settings
        self.events = events

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
    ) -> Pipeline:
        """An ordered list of stages; add them with ``@pipeline.stage()``. ``offer``: for people who bring it a file."""
        return Pipeline(self, self._new_pipeline(name, result_columns, offer=offer), EnqueueOptions(priority=priority))

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
        async with self._opening:
            if self._pool is not None:
                return
            url = await self.database_url()
            pool = await database.pool(self.settings, url, purpose=f"app {self.name}", size=10)
            try:
                with translated(url):
                    async with pool.acquire() as connection:
                        if self._server is not None:
                            await migrate.migrate(connection)
                        await migrate.check(connection)
                        await self._register(connection)
            except BaseException:
                pool.terminate()
                raise
            self._pool = pool

    async def close(self) -> None:
        await self.waiter.close()
        await self.counted_in_redis.close()
        if self._background:
            await asyncio.gather(*self._background, return_exceptions=True)
        pool, self._pool = self._pool, None
        if pool is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(pool.close(), 5)
            pool.terminate()
        await asyncio.to_thread(self._close_side)
        self._url, self._settings = None, self._given_settings
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.release)

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
        if self._pool is None:
            await self.open()
        assert self._pool is not None
        with translated(self._url):
            async with self._pool.acquire() as connection:
                yield connection

    async def _register(self, connection: Any) -> None:
        for pipeline in self.pipelines.values():
            declared = [
                Declared(
                    name=stage.name,
                    position=stage.position,
                    max_attempts=stage.max_attempts or self.settings.max_attempts_error,
                    max_running=stage.max_running,
                    policy=stage.policy(),
                )
                for stage in pipeline.stages
            ]
            for name, stage_id in (await stages.register(connection, pipeline.name, declared)).items():
                self.stage_ids[(pipeline.name, name)] = stage_id
        await scheduling.declare(connection, self.schedules.values(), source=self.name)

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
        if self._pool is None:
            await self.open()
        options = with_trace(options)
        if connection is None:
            task = prepare(pipeline, values, options, notify=self._hints.due(pipeline.name))
            async with self.connection() as own:
                stored = await tasks.enqueue(own, task)
        elif isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
            with translated():
                stored = await tasks.enqueue(connection, prepare(pipeline, values, options))
        else:
            stored = await foreign.enqueue_on(connection, prepare(pipeline, values, options))
        self.events.emit("tasks.enqueued", pipeline=pipeline.name, count=1, tasks=[stored[0]], created=stored[1])
        return Task(self, *stored)

    def store_sync(
        self, pipeline: PipelineDefinition, values: Mapping[str, Any], options: EnqueueOptions, connection: Any = None
    ) -> Task[Any]:
        options = with_trace(options)
        if connection is None:
            return self._on_side(lambda side: side.store(pipeline, values, options))
        self._on_side(lambda side: side.open())
        return Task(self, *foreign.enqueue_on_sync(connection, prepare(pipeline, values, options)))

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
        if self._pool is None:
            await self.open()
        options = with_trace(options)

        async def write(target: Any) -> Job:
            stored = await store_many(
                target,
                pipeline=pipeline,
                stage=self.stage_ids[(pipeline.name, pipeline.first.name)],
                max_attempts=pipeline.first.max_attempts or self.settings.max_attempts_error,
                rows=encoded_rows(pipeline, rows),
                options=options,
                name=name,
                metadata=metadata,
            )
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
            stage=self.stage_ids[(pipeline.name, pipeline.first.name)],
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

    def _hint_later(self, delay_seconds: float, pipeline: str) -> None:
        async def send() -> None:
            await asyncio.sleep(delay_seconds)
            self._hints.trailing_sent(pipeline)
            with suppress(Exception):  # a hint; polling finds the task
                async with self.connection() as connection:
                    await tasks.wake(connection, pipeline)

        task = asyncio.get_running_loop().create_task(send())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # ---------------------------------------------------------------- the thin synchronous side

    def _on_side(self, work: "Callable[[Penstock], Coroutine[Any, Any, Value]]") -> Value:
        """Run on a loop of our own in a side thread, with connections of its own."""
        with self._side_lock:
            if self._side_loop is None:
                self._side_loop = asyncio.new_event_loop()
                self._side_thread = threading.Thread(
                    target=self._side_loop.run_forever, name="penstock-enqueue", daemon=True
                )
                self._side_thread.start()
                self._side = Penstock(self.name, settings=self.settings, events=self.events)
                self._side.pipelines = self.pipelines
                self._side._url = self._url
            side, loop = self._side, self._side_loop
        assert side is not None
        return asyncio.run_coroutine_threadsafe(work(side), loop).result()

    def _close_side(self) -> None:
        with self._side_lock:
            side, loop, self._side, self._side_loop = self._side, self._side_loop, None, None
        if side is not None and loop is not None:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(side.close(), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            if self._side_thread is not None:
                self._side_thread.join(5)
            loop.close()
