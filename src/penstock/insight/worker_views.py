"""Workers as people see them, as of their last heartbeats: their processors by name, and their last health report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_DECISIONS = ("claim", "inbox", "ewma_ms", "cpu_factor", "memory_factor", "errors_factor", "retry_spacing")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorView:
    """One that is not idle. ``error``: past its deadline or asked to stop, and still holding its task."""

    name: str
    stage: str
    state: str
    task_id: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthView:
    """The last look of a worker at itself. ``problems`` are sentences, none when all is well."""

    at: datetime
    stuck_processors: int
    stuck_rows: int
    woken: int
    seconds_since_poll: float
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """``at_work`` is bounded; those in error and those that have run longest come first."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    started_at: datetime
    silent_seconds: float
    running: int
    busy: int
    error: int
    processors: int
    stages: int
    # Per stage: how much it claims and why, and what shrinks that, as its last heartbeat told.
    decisions: Mapping[str, Any]
    at_work: tuple[ProcessorView, ...]
    # None before its first look, which comes after PENSTOCK_HEALTH_SECONDS.
    health: HealthView | None
    # Of the runner's process, without children; None: an older Penstock does not tell.
    memory_bytes: int | None
    # Whether its next heartbeat is overdue.
    late: bool


def view_of_worker(row: Mapping[str, Any]) -> WorkerView:
    processors = processors_by_state([row], None)
    status = row["status"] or {}
    return WorkerView(
        id=row["id"],
        name=row["name"],
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        started_at=row["started_at"],
        silent_seconds=row["silent_seconds"],
        running=len(row["running"]),
        busy=processors.get("busy", 0),
        error=processors.get("error", 0),
        processors=sum(processors.values()),
        stages=len(row["stages"]),
        decisions={
            label: {name: seen.get(name) for name in _DECISIONS} for label, seen in status.get("stages", {}).items()
        },
        at_work=tuple(_processor(one) for one in status.get("at_work", ())),
        health=_health(status.get("health")),
        memory_bytes=status.get("memory_bytes"),
        late=row["silent_seconds"] > (row["lease_until"] - row["heartbeat_at"]).total_seconds() / 2,
    )


def processors_by_state(live: Sequence[Mapping[str, Any]], label: str | None) -> dict[str, int]:
    """Over these workers, of one stage or of all."""
    total: dict[str, int] = {}
    for one in live:
        for stage, told in one["status"].get("stages", {}).items():
            if label in (None, stage):
                for state, count in told.get("processors", {}).items():
                    total[state] = total.get(state, 0) + count
    return total


def _processor(told: Mapping[str, Any]) -> ProcessorView:
    return ProcessorView(
        name=told["name"],
        stage=told["stage"],
        state=told["state"],
        task_id=told["task"],
        since=datetime.fromtimestamp(told["since_seconds"], UTC),
    )


def _health(told: Mapping[str, Any] | None) -> HealthView | None:
    if told is None:
        return None
    return HealthView(
        at=datetime.fromtimestamp(told["at_seconds"], UTC),
        stuck_processors=told["stuck_processors"],
        stuck_rows=told["stuck_rows"],
        woken=told["woken"],
        seconds_since_poll=told["seconds_since_poll"],
        problems=tuple(told["problems"]),
    )
