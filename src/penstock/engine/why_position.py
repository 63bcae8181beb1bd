"""The reasons that one row is enough to see: finished, held, stopped, not due, blocked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from penstock.engine.version_skew import CAUSE
from penstock.engine.wording import ago, failure, span, stage_label
from penstock.lifecycle import State

Position = Mapping[str, Any]


class Reason(StrEnum):
    FINISHED = "finished"
    RUNNING = "running"
    STOPPING = "stopping"
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"
    STAGE_PAUSED = "stage_paused"
    JOB_PAUSED = "job_paused"
    LANE_PAUSED = "lane_paused"
    RETRY = "retry"
    SNOOZED = "snoozed"
    VERSION_SKEW = "version_skew"
    THROTTLED = "throttled"
    SCHEDULED = "scheduled"
    NO_WORKER = "no_worker"
    STAGE_LIMIT = "stage_limit"
    LANE_LIMIT = "lane_limit"
    LIMITER = "limiter"
    BROKER_AWAY = "broker_away"
    NO_RELAY = "no_relay"
    BEHIND = "behind"
    BUSY = "busy"
    ANNOUNCED = "announced"
    NOT_ANNOUNCED = "not_announced"
    OVERLOOKED = "overlooked"
    DUE = "due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """``until`` is when the reason ends by itself, where that is known; ``next_step`` what a person can do."""

    task_id: int
    state: State
    reason: Reason
    sentence: str
    until: datetime | None
    next_step: str | None
    read_at: datetime


def because(
    row: Position,
    reason: Reason,
    sentence: str,
    *,
    state: State = State.PENDING,
    until: datetime | None = None,
    next_step: str | None = None,
) -> Why:
    return Why(
        task_id=row["task_id"],
        state=state,
        reason=reason,
        sentence=sentence,
        until=until,
        next_step=next_step,
        read_at=row["read_at"],
    )


def finished(row: Position) -> Why | None:
    if row["queued"]:
        return None
    state = State(row["status"])
    cause = failure(row["error_type"], row["error_message"])
    return because(
        row,
        Reason.FINISHED,
        f"It ended {state.name} {ago(row['finished_at'], row['read_at'])}" + (f": {cause}." if cause else "."),
        state=state,
        next_step=_after_the_end(state, row["task_id"]),
    )


def _after_the_end(state: State, task_id: int) -> str | None:
    """A dead letter can be looked at and mended; the other endings can only be asked for again."""
    if state is State.DONE:
        return None
    if state is not State.ERROR:
        return f"`penstock tasks reprocess {task_id}` runs it again."
    return (
        f"`penstock dead-letters show {task_id}` shows the error, `penstock dead-letters replay {task_id}` runs it "
        f"again, `penstock dead-letters edit {task_id}` with another input."
    )


def leased(row: Position) -> Why | None:
    """Held by a worker: running, asked to stop, or left behind by one that is gone."""
    if row["worker"] is None:
        return None
    name = row["worker_name"] or f"number {row['worker']}"
    gone = row["worker_name"] is None or row["died_at"] or row["stopped_at"] or row["lease_until"] < row["read_at"]
    if gone:
        return because(
            row,
            Reason.WORKER_LOST,
            f"Worker {name} held it and is gone; the rescue gives it back within seconds while any worker lives.",
            state=State.PROCESSING,
            next_step="If it stays like this, start a worker: `penstock worker --app module:name`.",
        )
    since = ago(row["updated_at"], row["read_at"])
    if row["cancel_at"] is not None or row["lane_cancelled_at"] is not None:
        return because(
            row,
            Reason.STOPPING,
            f"Worker {name} took it {since} and was asked to stop; it ends CANCELLED when the handler lets go.",
            state=State.PROCESSING,
            next_step="A handler that does not react is killed at its deadline.",
        )
    return because(
        row,
        Reason.RUNNING,
        f"Worker {name} took it {since}, on try {row['attempt'] + 1} of {row['max_attempts']}.",
        state=State.PROCESSING,
    )


def stopped(row: Position) -> Why | None:
    """Somebody cancelled or paused something the task is part of."""
    if row["lane_cancelled_at"] is not None:
        who = f"by {row['lane_cancelled_by']} {ago(row['lane_cancelled_at'], row['read_at'])}"
        return because(
            row,
            Reason.CANCELLED,
            f"{group_of(row)} was cancelled {who}; the sweep ends it within seconds while any worker lives.",
            state=State.CANCELLED,
        )
    if row["stage_paused_at"] is not None:
        stage = stage_of(row)
        return because(
            row,
            Reason.STAGE_PAUSED,
            f"Stage {stage} is paused{_by(row, 'stage')}.",
            next_step=f"`penstock stages resume {stage}`",
        )
    if row["lane_paused_at"] is None:
        return None
    if row["lane_job"] is not None:
        return because(
            row,
            Reason.JOB_PAUSED,
            f"Job {row['lane_job']} is paused{_by(row, 'lane')}.",
            next_step=f"`penstock jobs resume {row['lane_job']}`",
        )
    return because(
        row,
        Reason.LANE_PAUSED,
        f"Lane {row['lane_key']!r} of {row['pipeline']} is paused{_by(row, 'lane')}.",
        next_step=f"`penstock lanes resume {row['pipeline']} {row['lane_key']}`",
    )


_RETRIES = {"retry", "timeout", "crash", "rescue", "database"}


def not_yet(row: Position) -> Why | None:
    """Its time has not come."""
    if row["run_at"] <= row["read_at"]:
        return None
    wait = span((row["run_at"] - row["read_at"]).total_seconds())
    cause = failure(row["cause_type"], row["cause_message"])
    if row["next_run_at"] is None or row["next_run_at"] != row["run_at"]:
        reason, sentence = Reason.SCHEDULED, f"It was stored with a delay and is due in {wait}."
    elif row["cause"] in _RETRIES:
        reason = Reason.RETRY
        tried = f"try {row['attempt'] + 1} of {row['max_attempts']} in {wait}"
        sentence = f"It waits for {tried}" + (f", after {cause}." if cause else ".")
    elif row["cause"] == "not_found":
        reason = Reason.RETRY
        # Not "of how many": looking again has a limit of its own, which belongs to the workers.
        sentence = f"It found nothing and looks again, as try {row['attempt'] + 1}, in {wait}" + (
            f" ({cause})." if cause else "."
        )
    elif row["cause"] == "throttled":
        reason = Reason.THROTTLED
        sentence = f"The other side asked to slow down; it is tried again in {wait} and no try is burned" + (
            f" ({cause})." if cause else "."
        )
    elif row["cause"] == CAUSE:
        return _skewed(row, wait)
    else:
        reason = Reason.SNOOZED
        sentence = f"It was snoozed and is called again in {wait}" + (f": {cause}." if cause else ".")
    return because(row, reason, sentence, until=row["run_at"])


def _skewed(row: Position, wait: str) -> Why:
    worker = f" on worker {row['cause_worker']}" if row["cause_worker"] else ""
    return because(
        row,
        Reason.VERSION_SKEW,
        f"It waits for a worker of another release: its input does not fit {stage_of(row)}{worker}"
        f" ({row['cause_message']}). It is tried again in {wait} and burns no attempt.",
        until=row["run_at"],
        next_step="Start a worker of the release that enqueued it. If the input is wrong,"
        f" `penstock tasks cancel {row['task_id']}` and enqueue it again.",
    )


def blocked(row: Position) -> Why | None:
    """The last run was throttled by a limiter key that is still closed."""
    until = row["blocked_until"]
    if row["cause"] != "throttled" or until is None or until <= row["read_at"]:
        return None
    wait = span((until - row["read_at"]).total_seconds())
    cause = f" ({row['blocked_reason']})" if row["blocked_reason"] else ""
    return because(
        row,
        Reason.LIMITER,
        f"Limit {row['limit_key']!r}, which it needs, opens in {wait}{cause}.",
        until=until,
        next_step="`penstock limits list` shows all budgets.",
    )


def stage_of(row: Position) -> str:
    return stage_label(row["pipeline"], row["stage_name"])


def group_of(row: Position) -> str:
    return f"Job {row['lane_job']}" if row["lane_job"] is not None else f"Lane {row['lane_key']!r} of {row['pipeline']}"


def _by(row: Position, what: str) -> str:
    who = f" by {row[f'{what}_paused_by']}" if row[f"{what}_paused_by"] else ""
    why = f": {row[f'{what}_pause_reason']}" if row[f"{what}_pause_reason"] else ""
    return f"{who} for {span((row['read_at'] - row[f'{what}_paused_at']).total_seconds())}{why}"
