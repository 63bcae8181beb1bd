"""Why workers claim as much of a job's stages as they do now: what they measured, the target, and what shrinks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.config import Settings
from penstock.errors import JobNotFound
from penstock.observe.wording import stage_label
from penstock.storage import jobs, reads, workers

Connection = Any


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


async def read(connection: Connection, job_id: int, settings: Settings) -> tuple[StageSlice, ...]:
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
