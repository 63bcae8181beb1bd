"""Stores work: one task, or many. Nothing is accepted that was not stored."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from penstock.engine.definition import PipelineDefinition
from penstock.engine.payload import clean_text, encode
from penstock.engine.tracing import current_trace
from penstock.errors import InvalidArguments, InvalidSetting
from penstock.model import LONGEST_SECONDS, LONGEST_TIMEOUT_SECONDS, MAX_INPUT_BYTES, Priority, priority_number, seconds
from penstock.storage import jobs, lanes, tasks
from penstock.storage.tasks import Batch, NewTask

# One statement up to here, COPY beyond: measured in bench/README.md.
COPY_FROM = 5_000
_CHUNK_ROWS = 1_000
_COPY_ROWS = 20_000
_HINT_EVERY_SECONDS = 0.01


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


class Hints:
    """Coalesces wake-ups: at most one NOTIFY per pipeline and ten milliseconds, the last one never lost.

    NOTIFY takes a lock at commit that all notifying transactions share, so one per task would be the bottleneck.
    """

    def __init__(self, later: Callable[[float, str], None]) -> None:
        """``later(delay_seconds, pipeline)`` sends a trailing hint."""
        self._later = later
        self._sent: dict[str, float] = {}
        self._trailing: set[str] = set()

    def due(self, pipeline: str) -> bool:
        """Whether this enqueue should carry the hint itself."""
        now = time.monotonic()
        if now - self._sent.get(pipeline, 0.0) >= _HINT_EVERY_SECONDS:
            self._sent[pipeline] = now
            return True
        if pipeline not in self._trailing:
            self._trailing.add(pipeline)
            self._later(_HINT_EVERY_SECONDS, pipeline)
        return False

    def trailing_sent(self, pipeline: str) -> None:
        self._trailing.discard(pipeline)
        self._sent[pipeline] = time.monotonic()


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
class Stored:
    job_id: int
    count: int
    created: bool


async def store_many(
    connection: Any,
    *,
    pipeline: PipelineDefinition,
    stage: int,
    max_attempts: int,
    rows: Iterable[str],
    options: EnqueueOptions,
    name: str | None,
    metadata: Mapping[str, Any],
) -> Stored:
    """Many tasks as one job, in the transaction that is open on ``connection``: all or none."""
    job_id, created = options.job_id, False
    if job_id is None:
        job_id, created = await create_job(
            connection,
            pipeline,
            name=name,
            owner=options.owner,
            idempotency_key=options.idempotency_key,
            metadata=metadata,
        )
        if not created:
            return Stored(job_id=job_id, count=0, created=False)
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
        max_attempts=options.max_attempts or max_attempts,
        options=options.stored(),
        trace=options.trace,
        run_at=options.run_at,
        delay_seconds=None if options.delay is None else seconds(options.delay),
    )
    count = 0
    for chunk, by_copy in _chunks(rows):
        write = tasks.copy_many if by_copy else tasks.enqueue_many
        count += await write(connection, batch, chunk)
    await tasks.wake(connection, pipeline.name)
    return Stored(job_id=job_id, count=count, created=created)


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


def with_trace(options: EnqueueOptions) -> EnqueueOptions:
    """With the trace of whoever enqueues, where there is one and no other was given."""
    if options.trace is not None or (trace := current_trace()) is None:
        return options
    return replace(options, trace=trace)
