"""The two contracts that users implement when they think in jobs and envelopes: who dispatches, and who handles. And
what the engine makes of them: tasks of what is dispatched, a stage of a handler.

A job of these is a task like any other: stored in PostgreSQL before anything else happens, with retries, deadlines,
lanes and dead letters. The envelope a handler gets is made from the task; what travels through a broker is a reference
to it (``penstock.brokers.envelope``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from penstock.brokers.envelope import job_id_of, trace_of
from penstock.core.app import App
from penstock.core.context import Context
from penstock.core.handles import Task
from penstock.core.retry import waited
from penstock.errors import InvalidArguments, InvalidDefinition, PermanentError
from penstock.model import Priority, Snooze
from penstock.storage import relay, tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeader:
    """``job_id`` is that of the task that ``dispatch`` answered. ``version``: that of the body, 1 where it says none.
    ``created_at``: when this try became due. ``attempt``: 1 in the first try."""

    job_id: UUID
    type: str
    version: int
    created_at: datetime
    attempt: int
    max_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTracing:
    """Of the W3C trace the job was dispatched in, if there was one."""

    trace_id: str | None = None
    span_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvelope:
    """What a ``JobHandler`` is given. ``body``: what was dispatched, and the ``task_id``."""

    header: JobHeader
    body: Mapping[str, Any]
    tracing: JobTracing


class JobTask(Task[Any]):
    """What a dispatcher answers: the task, and the ``job_id`` under which its handler and its messages know it."""

    __slots__ = ("job_id",)

    def __init__(self, app: App, task_id: int, job_id: UUID, created: bool = True) -> None:
        super().__init__(app, task_id, created)
        self.job_id = job_id


class JobDispatcher(ABC):
    """The producer's side. Code that depends on this can be tested with ``penstock.testing.RecordingDispatcher``."""

    @abstractmethod
    async def dispatch(
        self,
        type: str,
        body: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        priority: int | str | Priority = Priority.NORMAL,
        delay: float | timedelta | None = None,
    ) -> JobTask:
        """Returns when the job is stored, with its task: to wait for its result, to look at it, to cancel it, and with
        the ``job_id`` of its envelope. The same ``idempotency_key`` again gives the same task and stores nothing.
        ``body``: JSON of at most 64 KiB; a ``version`` in it says which handlers may take it."""


class JobHandler(ABC):
    """The consumer's side: one class per type of job. ``app.add_handler(MyHandler())`` makes a stage of it.

    ``handle`` may return a value or an ending (``Snooze``, ``Skip`` …) and raise as any task may. A body of a
    ``version`` above the handler's is left for a newer worker: it waits, and no attempt is burned.
    """

    type: ClassVar[str]
    version: ClassVar[int] = 1
    pool: ClassVar[int | None] = None
    timeout: ClassVar[float | timedelta | None] = None
    max_attempts: ClassVar[int | None] = None
    max_running: ClassVar[int | None] = None

    @abstractmethod
    async def handle(self, envelope: JobEnvelope, ctx: Context) -> Any:
        """One run of one job."""


class EngineDispatcher(JobDispatcher):
    """Stores jobs as tasks of an application: in PostgreSQL first, from there by whatever transport the stage has."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._installation = Installation(app)

    async def dispatch(
        self,
        type: str,
        body: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        priority: int | str | Priority = Priority.NORMAL,
        delay: float | timedelta | None = None,
    ) -> JobTask:
        task = await self._app.enqueue(
            type, checked_body(type, body), idempotency_key=idempotency_key, priority=priority, delay=delay
        )
        return JobTask(self._app, task.id, await self._installation.job_id(task.id), task.created)


class Installation:
    """Which database this is, asked once: it never changes."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._id: UUID | None = None

    async def job_id(self, task_id: int) -> UUID:
        if self._id is None:
            async with self._app.connection() as connection:
                self._id = await relay.installation(connection)
        return UUID(str(job_id_of(self._id, task_id)))


def checked_body(type: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a handler could not make an envelope of is refused before it is stored."""
    if not isinstance(body, Mapping):
        raise InvalidArguments(type, f"the body has to be an object, not {body.__class__.__name__}")
    if "task_id" in body:
        raise InvalidArguments(type, "the body has a task_id, which is the engine's own; call it something else")
    if (problem := _version_problem(body)) is not None:
        raise InvalidArguments(type, problem)
    return body


def stage_function(app: App, handler: JobHandler) -> Callable[..., Any]:
    """What runs in place of a task's function."""
    installation = Installation(app)

    async def handle(ctx: Context, /, **body: Any) -> Any:
        if (problem := _version_problem(body)) is not None:
            raise PermanentError(f"The job {ctx.task_id} cannot be handled: {problem}. Edit its input and replay it.")
        version = body.get("version", 1)
        if version > handler.version:
            return await _for_newer(app, ctx, handler, version)
        return await handler.handle(_envelope(await installation.job_id(ctx.task_id), ctx, handler, version, body), ctx)

    return handle


def policy_of(handler: JobHandler) -> dict[str, Any]:
    """Checked here, so that a class that forgot its type says so when it is added and not when it runs."""
    what = f"Handler {type(handler).__name__}"
    name = getattr(handler, "type", None)
    if not isinstance(name, str):
        raise InvalidDefinition(what=what, problem=f"its type is {name!r}; give the class a `type` that is a text")
    version: object = handler.version
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidDefinition(what=what, problem=f"version = {version!r} has to be a whole number from 1")
    names = ("pool", "timeout", "max_attempts", "max_running")
    return {name: getattr(handler, name) for name in names}


async def _for_newer(app: App, ctx: Context, handler: JobHandler, version: int) -> Snooze:
    """By its age, which needs no counter: 5 s at first, at most a quarter of an hour."""
    async with app.connection() as connection:
        age = await tasks.age_seconds(connection, ctx.task_id)
    reason = f"its body has version {version}, and this worker knows up to {handler.version}; a newer one may take it"
    return Snooze(waited(age), reason)


def _envelope(job_id: UUID, ctx: Context, handler: JobHandler, version: int, body: Mapping[str, Any]) -> JobEnvelope:
    trace_id, span_id = trace_of(ctx.trace)
    return JobEnvelope(
        header=JobHeader(
            job_id=job_id,
            type=handler.type,
            version=version,
            created_at=ctx.due_at,
            attempt=ctx.attempt,
            max_attempts=ctx.max_attempts,
        ),
        body={**body, "task_id": ctx.task_id},
        tracing=JobTracing(trace_id=trace_id, span_id=span_id),
    )


def _version_problem(body: Mapping[str, Any]) -> str | None:
    version = body.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        return f"the body's version is {str(version)[:50]!r}, not a whole number from 1"
    return None
