"""Makes a stage of a ``JobHandler``, and jobs of what a ``JobDispatcher`` is given."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from penstock.brokers.contracts import JobDispatcher, JobEnvelope, JobHandler, JobHeader, JobTask, JobTracing
from penstock.brokers.envelope import job_id_of, trace_of
from penstock.core.app import App
from penstock.core.context import Context
from penstock.core.version_skew import waited
from penstock.errors import InvalidArguments, InvalidDefinition, PermanentError
from penstock.model import Priority, Snooze
from penstock.storage import relay, tasks


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
