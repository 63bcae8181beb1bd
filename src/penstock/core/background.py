"""What ``@app.task`` leaves in place of the function: callable as before, and enqueueable."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from penstock.core.app import App
from penstock.core.context import Context
from penstock.core.define import PipelineDefinition
from penstock.core.enqueue import Callback, EnqueueOptions, callback_of, enqueue_sync
from penstock.core.handles import Task
from penstock.core.jobs import Job
from penstock.core.tracing import current_trace
from penstock.errors import UsageError
from penstock.model import Ending, Priority

if TYPE_CHECKING:
    from typing import Concatenate

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Enqueueable(Generic[Params, Result]):
    """A pipeline together with the options of the next call. Immutable: ``options`` returns a new one."""

    def __init__(self, app: App, pipeline: PipelineDefinition, chosen: EnqueueOptions) -> None:
        self._app = app
        self.pipeline = pipeline
        self._options = chosen

    @property
    def name(self) -> str:
        return self.pipeline.name

    def options(
        self,
        *,
        priority: int | str | Priority | None = None,
        delay: float | timedelta | None = None,
        run_at: datetime | None = None,
        idempotency_key: str | None = None,
        unique_key: str | None = None,
        lane: str | None = None,
        owner: str | None = None,
        job: Job | int | None = None,
        max_attempts: int | None = None,
        timeout: float | timedelta | None = None,
        trace: str | None = None,
    ) -> "Enqueueable[Params, Result]":
        """How the next enqueue differs.

        ``idempotency_key``: the same key gives the same task, for as long as it is kept. ``unique_key``: while a task
        with this key waits, further ones are coalesced into it. ``lane``: the unit of fairness, pause and cancel.
        """
        given: dict[str, Any] = {
            "priority": priority,
            "delay": delay,
            "run_at": run_at,
            "idempotency_key": idempotency_key,
            "unique_key": unique_key,
            "lane": lane,
            "owner": owner,
            "job_id": job.id if isinstance(job, Job) else job,
            "max_attempts": max_attempts,
            "timeout": timeout,
            "trace": trace,
        }
        chosen = replace(self._options, **{name: value for name, value in given.items() if value is not None})
        return Enqueueable(self._app, self.pipeline, chosen)

    async def enqueue(self, *args: Params.args, **kwargs: Params.kwargs) -> Task[Result]:
        """Store one task. When this returns, it is safe."""
        return await self._app.store(self.pipeline, self._bind(args, kwargs), self._options)

    async def enqueue_on(self, connection: Any, *args: Params.args, **kwargs: Params.kwargs) -> Task[Result]:
        """Store one task in the transaction that is open on ``connection``: it exists if and only if that commits.

        Takes connections of asyncpg, psycopg (async), SQLAlchemy (AsyncSession, AsyncConnection).
        """
        return await self._app.store(self.pipeline, self._bind(args, kwargs), self._options, connection)

    def enqueue_sync(self, *args: Params.args, **kwargs: Params.kwargs) -> Task[Result]:
        """For code without an event loop."""
        return enqueue_sync(self._app, self.pipeline, self._bind(args, kwargs), self._options)

    def enqueue_sync_on(self, connection: Any, *args: Params.args, **kwargs: Params.kwargs) -> Task[Result]:
        """In the transaction of a psycopg, SQLAlchemy or Django connection."""
        return enqueue_sync(self._app, self.pipeline, self._bind(args, kwargs), self._options, connection)

    async def enqueue_many(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        connection: Any = None,
        then: "Enqueueable[Any, Any] | None" = None,
        then_arguments: Mapping[str, Any] | None = None,
    ) -> Job:
        """Store many tasks as one job, all or none; each row holds the arguments of one task.

        ``then``: a task that is enqueued once when every task of the job has ended, whatever their endings. It gets
        ``then_arguments``, and the job's id and counts where it has parameters called ``job`` and ``counts``.
        """
        callback = None if then is None else _task_given(then)._as_callback(then_arguments or {})
        if then is None and then_arguments is not None:
            raise UsageError("then_arguments were given without a task to give them to. Say which one with then=….")
        return await self._app.store_many(
            self.pipeline,
            rows,
            self._options,
            name=name,
            metadata=metadata or {},
            connection=connection,
            callback=callback,
        )

    def _as_callback(self, arguments: Mapping[str, Any]) -> Callback:
        chosen = self._options if self._options.trace else replace(self._options, trace=current_trace())
        return callback_of(self.pipeline, arguments, chosen)

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return self.pipeline.first.arguments.bind(args, kwargs)


def _task_given(then: object) -> Enqueueable[Any, Any]:
    """A name is not enough: the arguments are checked against the task before anything is stored."""
    if isinstance(then, Enqueueable):
        return then
    raise UsageError(
        f"then = {repr(then)[:100]} is no task. Give the task itself, as in then=report, or one with options, as in"
        " then=report.options(priority='high'); a pipeline may be given as well."
    )


class BackgroundTask(Enqueueable[Params, Result]):
    """The decorated function. Calling it runs it here and now, as if it had not been decorated."""

    def __init__(
        self, app: App, pipeline: PipelineDefinition, function: Callable[..., Any], chosen: EnqueueOptions
    ) -> None:
        super().__init__(app, pipeline, chosen)
        self.function = function
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = getattr(function, "__qualname__", self.name)
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name!r}>"


class Decorator:
    """Typed by what it decorates: ``ctx`` is not part of what ``enqueue`` takes, ``await`` is undone, and the planned
    endings in a return annotation are no part of what ``result()`` gives."""

    def __init__(self, make: Callable[[Callable[..., Any]], BackgroundTask[Any, Any]]) -> None:
        self._make = make

    # Endings alone: nothing says what the value of a Done is.
    @overload
    def __call__(
        self, function: "Callable[Concatenate[Context, Params], Awaitable[Ending]]"
    ) -> BackgroundTask[Params, Any]: ...

    @overload
    def __call__(self, function: Callable[Params, Awaitable[Ending]]) -> BackgroundTask[Params, Any]: ...

    @overload
    def __call__(
        self, function: "Callable[Concatenate[Context, Params], Awaitable[Result | Ending]]"
    ) -> BackgroundTask[Params, Result]: ...

    @overload
    def __call__(self, function: Callable[Params, Awaitable[Result | Ending]]) -> BackgroundTask[Params, Result]: ...

    @overload
    def __call__(self, function: "Callable[Concatenate[Context, Params], Ending]") -> BackgroundTask[Params, Any]: ...

    @overload
    def __call__(self, function: Callable[Params, Ending]) -> BackgroundTask[Params, Any]: ...

    @overload
    def __call__(
        self, function: "Callable[Concatenate[Context, Params], Result | Ending]"
    ) -> BackgroundTask[Params, Result]: ...

    @overload
    def __call__(self, function: Callable[Params, Result | Ending]) -> BackgroundTask[Params, Result]: ...

    def __call__(self, function: Callable[..., Any]) -> BackgroundTask[Any, Any]:
        return self._make(function)


class Pipeline(Enqueueable[Any, Any]):
    """A pipeline under construction: each ``@pipeline.stage`` adds the next stage."""

    def stage(self, name: str | None = None, **policy: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The first stage takes the arguments of ``enqueue``; each later one the result of the stage before."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.pipeline.add_stage(function, name or function.__name__, **policy)
            return function

        return add
