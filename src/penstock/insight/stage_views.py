"""A stage as people see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.brokers.stage_transports import StageTransport
from penstock.observe.wording import stage_label


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """``eta_seconds``: when the backlog would be gone at the present rate; None where nothing moves.

    ``mean_run_seconds`` is of the last hour. The rates are shares of what left the stage in the last hour, without what
    was cancelled: successes are DONE or moved on, failures ERROR; not found and skipped are neither. None where nothing
    was measured. ``retries_last_hour``: runs that burned an attempt and were tried again.
    ``told_by``: how its workers learn what to claim, by what they say themselves.
    ``in_broker``: of those that wait, how many a broker was told of.
    ``eta_cause``: what sets the pace, or why nothing moves; None where nothing waits or nobody knows.
    ``held_up_by``: the key of the limiter that sent a task of it back in the last minute.
    ``application``: the one whose workers run it; None for Penstock's own, and until it is registered again.
    The 95th percentiles are of the last hour.
    """

    pipeline: str
    stage: str
    application: str | None
    waiting: int
    running: int
    max_running: int | None
    workers: int
    processors: Mapping[str, int]
    oldest_wait_seconds: float | None
    arrived_per_second: float
    ended_per_second: float
    eta_seconds: float | None
    eta_cause: str | None
    held_up_by: str | None
    failed_last_hour: int
    mean_run_seconds: float | None
    mean_run_seconds_last_minute: float | None
    run_p95_seconds: float | None
    wait_p95_seconds: float | None
    success_rate: float | None
    failure_rate: float | None
    runs_last_hour: int
    retries_last_hour: int
    max_attempts: int
    policy: Mapping[str, Any]
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    told_by: StageTransport
    in_broker: int

    @property
    def transport(self) -> str | None:
        return self.told_by.name

    @property
    def label(self) -> str:
        return stage_label(self.pipeline, self.stage)
