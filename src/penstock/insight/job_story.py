"""What happened to a job and when: from its row, its file, the audit log, and the ends of its list of endings. And why
workers claim as much of its stages as they do now: what they measured, the target, and what shrinks it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.config import Settings
from penstock.core import job_counts
from penstock.errors import JobNotFound
from penstock.lifecycle import JobState
from penstock.observe.wording import size, stage_label
from penstock.storage import audit, callbacks, imports, job_lists, jobs, reads, workers
from penstock.storage.audit import AuditFilter, StoredEntry
from penstock.storage.callbacks import Callback
from penstock.storage.imports import Import
from penstock.storage.job_lists import Minute

Connection = Any
_ENTRIES = 200
MOST_ENDINGS = 5000
# The audit log and the row of a job tell of the same pause or cancel within this time.
_SAME = timedelta(seconds=5)
_DEEDS = {
    "job.pause": "paused",
    "job.resume": "resumed",
    "job.cancel": "cancelled",
    "job.reprocess": "run_again",
    "job.export": "exported",
    "job.kickoff": "kicked_off",
}
_ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    at: datetime
    what: str
    by: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``complete``: False where older deeds are left to the audit log. ``counted_since``: endings before it were not
    counted; None: all that stand were."""

    events: tuple[Happened, ...]
    complete: bool
    minutes: tuple[Minute, ...]
    counted_since: datetime | None
    read_at: datetime


async def timeline(connection: Connection, job_id: int) -> Timeline:
    """What happened to it, oldest first, and its endings per minute."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await jobs.get(connection, job_id)
        if job is None:
            raise JobNotFound(job_id)
        state, _ = await job_counts.read(connection, job_id)
        file = await imports.get(connection, job_id)
        callback = await callbacks.get(connection, job_id)
        noted = await audit.page(connection, AuditFilter(kind="job", object=str(job_id)), limit=_ENTRIES)
        first_at, last_at = await job_lists.ends(connection, job_id)
        minutes, since = await job_lists.minutes(connection, job_id, at_most=MOST_ENDINGS)
        now = await jobs.database_now(connection)
    found = [
        *_of_job(job, file, callback),
        *_deeds(noted.entries),
        *_of_endings(first_at, last_at if state in _ENDED else None, state),
    ]
    return Timeline(
        events=tuple(sorted(_once(found), key=lambda one: one.at)),
        complete=noted.next_before_id is None,
        minutes=tuple(minutes),
        counted_since=since,
        read_at=now,
    )


def _of_job(job: Mapping[str, Any], file: Import | None, callback: Callback | None) -> Iterator[Happened]:
    yield Happened(at=job["created_at"], what="created", by=job["owner"], detail=job["metadata"].get("file_name"))
    if file is not None and file.state == "stored":
        read = "" if file.size_bytes is None else f" from {size(file.size_bytes)}"
        yield Happened(at=file.updated_at, what="stored", detail=f"{file.rows_stored:,} rows{read}")
    if file is not None and file.state == "failed":
        detail = None if file.problem is None else str(file.problem.get("detail"))
        yield Happened(at=file.updated_at, what="import_failed", detail=detail)
    if job["paused_at"] is not None:
        yield Happened(at=job["paused_at"], what="paused", by=job["paused_by"], detail=job["pause_reason"])
    if job["cancelled_at"] is not None:
        yield Happened(at=job["cancelled_at"], what="cancelled", by=job["cancelled_by"])
    if callback is not None and callback.called_back_at is not None:
        called = callback.problem or f"{callback.pipeline}, item {callback.task_id}"
        yield Happened(at=callback.called_back_at, what="called_back", detail=called)


def _deeds(entries: Iterable[StoredEntry]) -> Iterator[Happened]:
    for entry in entries:
        if what := _DEEDS.get(entry.action):
            yield Happened(at=entry.at, what=what, by=entry.actor, detail=_detail(entry))


def _detail(entry: StoredEntry) -> str | None:
    details = entry.details
    match entry.action:
        case "job.reprocess":
            started = details.get("started")
            many = "1 item" if started == 1 else f"{started:,} items" if isinstance(started, int) else None
            stage = details.get("fromStage")
            return f"{many}, from stage {stage}" if many and stage else many
        case "job.export":
            return str(details.get("format", "")).upper() or None
        case _:
            reason = details.get("reason")
            return None if reason is None else str(reason)


def _of_endings(first_at: datetime | None, last_at: datetime | None, state: JobState) -> Iterator[Happened]:
    if first_at is not None:
        yield Happened(at=first_at, what="first_ended")
    if last_at is not None and state is not JobState.CANCELLED:
        yield Happened(at=last_at, what="failed" if state is JobState.FAILED else "done")


def _once(found: Sequence[Happened]) -> list[Happened]:
    """What both the row of the job and the audit log tell is told once, as the row tells it."""
    kept: list[Happened] = []
    for one in found:
        if one.what in ("paused", "cancelled") and any(
            other.what == one.what and abs(other.at - one.at) < _SAME for other in kept
        ):
            continue
        kept.append(one)
    return kept


# ---------------------------------------------------------------- how much is claimed


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSlice:
    """Of one worker, as of its last heartbeat. ``size`` None: it has not claimed anything yet."""

    worker: str
    size: int | None
    reason: str | None
    ewma_ms: float | None
    processors: int
    inbox: int
    cpu_factor: float
    memory_factor: float
    errors_factor: float
    silent_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSlice:
    stage: str
    sentence: str
    batch: int | None
    throttle: int | None
    max_running: int | None
    workers: tuple[WorkerSlice, ...]


async def slices(connection: Connection, job_id: int, settings: Settings) -> tuple[StageSlice, ...]:
    """In the order of the pipeline."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await jobs.get(connection, job_id)
        if job is None:
            raise JobNotFound(job_id)
        loads = [load for load in await reads.stage_load(connection) if load["pipeline"] == job["pipeline"]]
        live = [one for one in await workers.listing(connection) if one["live"]]
    return tuple(_stage(load, live, settings) for load in loads)


def _stage(load: Mapping[str, Any], live: Sequence[Mapping[str, Any]], settings: Settings) -> StageSlice:
    label = stage_label(load["pipeline"], load["name"])
    told = [
        _worker(one, one["status"]["stages"][label]) for one in live if label in (one["status"].get("stages") or {})
    ]
    policy: Mapping[str, Any] = load["policy"]
    return StageSlice(
        stage=load["name"],
        sentence=sentence(told, target_ms=settings.worker_target_slice_ms, max_running=load["max_running"]),
        batch=policy.get("batch"),
        throttle=policy.get("throttle"),
        max_running=load["max_running"],
        workers=tuple(told),
    )


def _worker(row: Mapping[str, Any], told: Mapping[str, Any]) -> WorkerSlice:
    claim = told.get("claim") or {}
    return WorkerSlice(
        worker=row["name"],
        size=claim.get("size"),
        reason=claim.get("reason"),
        ewma_ms=told.get("ewma_ms"),
        processors=sum((told.get("processors") or {}).values()),
        inbox=told.get("inbox") or 0,
        cpu_factor=told.get("cpu_factor") or 1.0,
        memory_factor=told.get("memory_factor") or 1.0,
        errors_factor=told.get("errors_factor") or 1.0,
        silent_seconds=row["silent_seconds"],
    )


def sentence(told: Sequence[WorkerSlice], *, target_ms: float, max_running: int | None) -> str:
    """One for all workers of a stage; where they differ, by the one that claims most."""
    if not told:
        return "No live worker serves this stage."
    if max_running is not None:
        return f"At most {max_running:,} may run at a time, so nothing is claimed ahead of a free processor."
    decided = [one for one in told if one.size is not None]
    if not decided:
        return "Nothing was claimed yet."
    largest = max(decided, key=lambda one: one.size or 0)
    if largest.ewma_ms is None:
        return f"Claims {largest.size:,} ahead until the first run was measured."
    each = "its processor" if largest.processors == 1 else f"each of {largest.processors:,} processors"
    said = f"Claims {largest.size:,} ahead: one takes {_ms(largest.ewma_ms)}"
    said += f", the target is {_ms(target_ms)} of work for {each}"
    shrunk = [
        name
        for name, factor in (
            ("processors of the machine are short", largest.cpu_factor),
            ("memory is short", largest.memory_factor),
            ("many runs fail", largest.errors_factor),
        )
        if factor < 1
    ]
    return f"{said}; that is cut short now, as {' and '.join(shrunk)}." if shrunk else f"{said}."


def _ms(value: float) -> str:
    if value < 1:
        return f"{value:.2g} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.3g} s"
