"""Stores work: one task, or many. Nothing is accepted that was not stored."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson

from penstock.core import foreign
from penstock.core.app import App
from penstock.core.define import PipelineDefinition
from penstock.core.handles import Task
from penstock.core.jobs import Job
from penstock.core.payload import clean_text, encode
from penstock.core.registering import ensure, first_stage
from penstock.core.tracing import current_trace
from penstock.errors import InvalidArguments, InvalidSetting, PayloadTooLarge, UsageError
from penstock.model import LONGEST_SECONDS, LONGEST_TIMEOUT_SECONDS, MAX_INPUT_BYTES, Priority, priority_number, seconds
from penstock.storage import callbacks, jobs, lanes, tasks
from penstock.storage.database import translated
from penstock.storage.tasks import Batch, NewTask

# One statement up to here, COPY beyond: measured in bench/README.md.
COPY_FROM = 5_000
_CHUNK_ROWS = 1_000
_COPY_ROWS = 20_000
# In the input of a callback, for the job's id and counts.
_PASSED_BYTES = 1024
# What a callback gets if its handler has parameters of these names and the caller gave no values for them.
_COUNTED = ("total", "done", "error", "not_found", "skipped", "cancelled")
PASSED: Mapping[str, Any] = {"job": 2**63 - 1, "counts": dict.fromkeys(_COUNTED, 2**63 - 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueOptions:
    """How one call differs from the task's own policy."""

    priority: int | str | Priority = Priority.NORMAL
    delay: float | timedelta | None = None
    run_at: datetime | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    lane: str | None = None
    owner: str | None = None
    job_id: int | None = None
    max_attempts: int | None = None
    timeout: float | timedelta | None = None
    trace: str | None = None

    def __post_init__(self) -> None:
        if self.delay is not None and self.run_at is not None:
            raise InvalidSetting("delay", self.delay, "give either delay or run_at, not both")
        if self.delay is not None and not 0 <= seconds(self.delay) <= LONGEST_SECONDS:
            raise InvalidSetting("delay", self.delay, "use 0 seconds to 10 years; for the past use run_at")
        if self.run_at is not None and self.run_at.tzinfo is None:
            raise InvalidSetting("run_at", self.run_at, "it has no time zone; use an aware datetime")
        if self.max_attempts is not None and not 1 <= self.max_attempts <= 1000:
            raise InvalidSetting("max_attempts", self.max_attempts, "use 1 to 1000")
        if self.timeout is not None and not 0 < seconds(self.timeout) <= LONGEST_TIMEOUT_SECONDS:
            raise InvalidSetting("timeout", self.timeout, "it has to be above 0, and 30 days at most")
        if self.job_id is not None and not 0 < self.job_id < 2**63:
            raise InvalidSetting("job", self.job_id, "it is the id of a job, a positive number")
        for name in ("idempotency_key", "unique_key", "lane", "owner", "trace"):
            value = getattr(self, name)
            if value is not None and (not 0 < len(value) <= 500 or clean_text(value) != value):
                raise InvalidSetting(name, value[:50], "use 1 to 500 characters without NUL and lone surrogates")

    def stored(self) -> str | None:
        """The part that travels with the task to its handler."""
        kept: dict[str, Any] = {}
        if self.timeout is not None:
            kept["timeout_seconds"] = seconds(self.timeout)
        if self.max_attempts is not None:
            kept["max_attempts"] = self.max_attempts
        return orjson.dumps(kept).decode() if kept else None


def prepare(
    pipeline: PipelineDefinition, values: Mapping[str, Any], options: EnqueueOptions, *, notify: bool = True
) -> NewTask:
    """Everything that can be refused is refused here, before the database is asked."""
    return NewTask(
        pipeline=pipeline.name,
        input=encode(values, what=f"input of {pipeline.name!r}", limit_bytes=MAX_INPUT_BYTES),
        priority=priority_number(options.priority),
        delay_seconds=None if options.delay is None else seconds(options.delay),
        run_at=None if options.run_at is None else options.run_at.astimezone(UTC),
        idempotency_key=options.idempotency_key,
        unique_key=options.unique_key,
        lane=options.lane,
        owner=options.owner,
        job_id=options.job_id,
        max_attempts=options.max_attempts,
        options=options.stored(),
        trace=options.trace,
        notify=notify,
    )


async def enqueue(
    app: App,
    pipeline: PipelineDefinition,
    values: Mapping[str, Any],
    options: EnqueueOptions,
    connection: Any = None,
) -> Task[Any]:
    """Stores one task. When this returns it is safe; on the caller's ``connection``, when their transaction commits."""
    await app.open()
    options = _with_trace(options)
    if connection is None:
        task = prepare(pipeline, values, options, notify=app.hint_due(pipeline.name))
        async with app.connection() as own:
            await first_stage(app, own, pipeline)
            stored = await tasks.enqueue(own, task)
    elif isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        with translated():
            await first_stage(app, connection, pipeline)
            stored = await tasks.enqueue(connection, prepare(pipeline, values, options))
    else:
        await ensure(app, pipeline)
        stored = await foreign.enqueue_on(connection, prepare(pipeline, values, options))
    app.events.emit("tasks.enqueued", pipeline=pipeline.name, count=1, tasks=[stored[0]], created=stored[1])
    return Task(app, *stored, pipeline)


def enqueue_sync(
    app: App,
    pipeline: PipelineDefinition,
    values: Mapping[str, Any],
    options: EnqueueOptions,
    connection: Any = None,
) -> Task[Any]:
    """The same without an event loop: on a loop in a thread, or on the caller's synchronous ``connection``."""
    options = _with_trace(options)
    if connection is None:
        stored = app.on_side_loop(lambda side: enqueue(side, pipeline, values, options))
        return Task(app, stored.id, stored.created, pipeline)
    app.on_side_loop(lambda side: ensure(side, pipeline))
    return Task(app, *foreign.enqueue_on_sync(connection, prepare(pipeline, values, options)), pipeline)


def encoded_rows(pipeline: PipelineDefinition, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows checked against the task's parameters; the sentence of a bad one names its number."""
    arguments = pipeline.first.arguments
    for number, row in enumerate(rows, start=1):
        try:
            values = arguments.check(row)
        except InvalidArguments as error:
            raise InvalidArguments(pipeline.name, f"row {number:,}: {error.problem}") from None
        yield encode(values, what=f"row {number:,} of {pipeline.name!r}", limit_bytes=MAX_INPUT_BYTES)


async def create_job(
    connection: Any,
    pipeline: PipelineDefinition,
    *,
    name: str | None,
    owner: str | None,
    idempotency_key: str | None,
    metadata: Mapping[str, Any],
) -> tuple[int, bool]:
    """Every job is stored here, with options that its pipeline has checked. Returns its id, and whether it is new."""
    checked = pipeline.job_metadata(metadata)
    return await jobs.create(
        connection,
        pipeline=pipeline.name,
        name=name,
        owner=owner,
        idempotency_key=idempotency_key,
        metadata=encode(checked, what="metadata of the job", limit_bytes=MAX_INPUT_BYTES),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """What a job calls when its last task has ended. ``stored``: encoded, as it is kept in the job's row."""

    pipeline: PipelineDefinition
    stored: str


async def enqueue_many(
    app: App,
    pipeline: PipelineDefinition,
    rows: Iterable[Mapping[str, Any]],
    options: EnqueueOptions,
    *,
    name: str | None,
    metadata: Mapping[str, Any],
    connection: Any = None,
    callback: Callback | None = None,
) -> Job:
    """Many tasks as one job, all or none; on the caller's ``connection`` in a savepoint of their transaction."""
    await app.open()
    if connection is None:
        async with app.connection() as own:
            return await enqueue_many(
                app, pipeline, rows, options, name=name, metadata=metadata, connection=own, callback=callback
            )
    if not isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        raise UsageError("enqueue_many takes an asyncpg connection; with others, enqueue one by one or by SQL.")
    with translated():
        async with connection.transaction():
            rows_in = encoded_rows(pipeline, rows)
            job = await _store_many(app, connection, pipeline, rows_in, _with_trace(options), name, metadata)
            if callback is not None and (job.created or options.job_id is not None):
                await first_stage(app, connection, callback.pipeline)
                await _keep(connection, job.id, callback)
            return job


async def enqueue_rows(
    app: App, connection: Any, pipeline: PipelineDefinition, rows: Iterable[str], options: EnqueueOptions
) -> int:
    """Encoded inputs into a job that exists, in the transaction open on ``connection``; returns how many."""
    return (await _store_many(app, connection, pipeline, rows, options, None, {})).count


async def _store_many(
    app: App,
    connection: Any,
    pipeline: PipelineDefinition,
    rows: Iterable[str],
    options: EnqueueOptions,
    name: str | None,
    metadata: Mapping[str, Any],
) -> Job:
    stage = await first_stage(app, connection, pipeline)
    job_id, created, count = options.job_id, False, 0
    if job_id is None:
        job_id, created = await create_job(
            connection,
            pipeline,
            name=name,
            owner=options.owner,
            idempotency_key=options.idempotency_key,
            metadata=metadata,
        )
    if created or options.job_id is not None:
        lane = await lanes.open_lane(
            connection,
            pipeline=pipeline.name,
            key=f"{options.lane} job:{job_id}" if options.lane else f"job:{job_id}",
            priority=priority_number(options.priority),
            owner=options.owner,
            job_id=job_id,
        )
        batch = Batch(
            stage=stage,
            lane=lane,
            job_id=job_id,
            owner=options.owner,
            max_attempts=options.max_attempts or pipeline.first.max_attempts or app.settings.max_attempts_error,
            options=options.stored(),
            trace=options.trace,
            run_at=options.run_at,
            delay_seconds=None if options.delay is None else seconds(options.delay),
        )
        for chunk, by_copy in _chunks(rows):
            write = tasks.copy_many if by_copy else tasks.enqueue_many
            count += await write(connection, batch, chunk)
        await tasks.wake(connection, pipeline.name)
    app.events.emit("tasks.enqueued", pipeline=pipeline.name, count=count, job=job_id)
    return Job(app, job_id, count, created)


async def _keep(connection: Any, job_id: int, callback: Callback) -> None:
    """What is refused here takes the tasks of the job back."""
    size_bytes = await callbacks.set_callback(connection, job_id, callback.stored)
    if size_bytes is None:
        raise UsageError(
            f"Job {job_id} cannot call back {callback.pipeline.name!r}: it has a callback already, or is gone."
            " Say `then` once, with the last rows of the job."
        )
    if size_bytes > MAX_INPUT_BYTES - _PASSED_BYTES:
        raise PayloadTooLarge(
            what=f"arguments of the callback {callback.pipeline.name!r}",
            size_bytes=size_bytes,
            limit_bytes=MAX_INPUT_BYTES - _PASSED_BYTES,
        )


def _chunks(rows: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Small batches go in small statements; once it is clear that many come, COPY takes over."""
    chunk: list[str] = []
    for seen, row in enumerate(rows, start=1):
        chunk.append(row)
        size = _COPY_ROWS if seen > COPY_FROM else _CHUNK_ROWS
        if len(chunk) >= size and (seen >= COPY_FROM or len(chunk) >= COPY_FROM):
            yield chunk, len(chunk) >= COPY_FROM
            chunk = []
    while chunk:
        by_copy = len(chunk) >= COPY_FROM
        part, chunk = (chunk, []) if by_copy else (chunk[:_CHUNK_ROWS], chunk[_CHUNK_ROWS:])
        yield part, by_copy


def _with_trace(options: EnqueueOptions) -> EnqueueOptions:
    """With the trace of whoever enqueues, where there is one and no other was given."""
    if options.trace is not None or (trace := current_trace()) is None:
        return options
    return replace(options, trace=trace)


def callback_of(then: PipelineDefinition, arguments: Mapping[str, Any], options: EnqueueOptions) -> Callback:
    """The arguments are checked as an enqueue of that task checks them. The duty that calls it may run in a process
    that does not know the task, so everything it needs is decided here."""
    for name, value in (("idempotency_key", options.idempotency_key), ("job", options.job_id)):
        if value is not None:
            raise UsageError(
                f"The callback {then.name!r} was given {name} = {value!r}: it belongs to the job it ends, and is"
                " enqueued once for it. Leave the option out."
            )
    checking = then.first.arguments
    passed = {name: value for name, value in PASSED.items() if name in checking.names and name not in arguments}
    values = checking.check({**arguments, **passed})
    kept = {name: value for name, value in values.items() if name not in passed}
    stored = encode(
        {"pipeline": then.name, "arguments": kept, "options": {**_stored(options), "passes": sorted(passed)}},
        what=f"callback {then.name!r}",
        limit_bytes=2 * MAX_INPUT_BYTES,
    )
    return Callback(pipeline=then, stored=stored)


def _stored(options: EnqueueOptions) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "priority": priority_number(options.priority),
        "delay_seconds": None if options.delay is None else seconds(options.delay),
        "run_at": None if options.run_at is None else options.run_at.astimezone(UTC).isoformat(),
        "unique_key": options.unique_key,
        "lane": options.lane,
        "owner": options.owner,
        "max_attempts": options.max_attempts,
        "timeout_seconds": None if options.timeout is None else seconds(options.timeout),
        "trace": options.trace,
    }
    return {name: value for name, value in chosen.items() if value is not None}
