"""What there is to say about one task, once the reason is decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.insight.waiting import Reason
from penstock.lifecycle import State
from penstock.observe.wording import ago, failure, span, stage_label

Position = Mapping[str, Any]


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


def finished(row: Position) -> Why:
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


def leased(row: Position) -> Why:
    """Held by a worker: running, asked to stop, or left behind by one that is gone."""
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


def stopped(row: Position, reason: Reason, *, running: int, last_server: Mapping[str, Any] | None) -> Why:
    """What keeps it from being claimed. ``running``: of the stage or lane whose limit is reached; ``last_server``: the
    worker that served the stage last, where none is alive."""
    stage, group = stage_of(row), group_of(row)
    match reason:
        case Reason.CANCELLED:
            who = f"by {row['lane_cancelled_by']} {ago(row['lane_cancelled_at'], row['read_at'])}"
            sentence = f"{group} was cancelled {who}; the sweep ends it within seconds while any worker lives."
            return because(row, reason, sentence, state=State.CANCELLED)
        case Reason.STAGE_PAUSED:
            sentence = f"Stage {stage} is paused{_by(row, 'stage')}."
            return because(row, reason, sentence, next_step=f"`penstock stages resume {stage}`")
        case Reason.JOB_PAUSED:
            sentence = f"{group} is paused{_by(row, 'lane')}."
            return because(row, reason, sentence, next_step=f"`penstock jobs resume {row['lane_job']}`")
        case Reason.LANE_PAUSED:
            sentence = f"{group} is paused{_by(row, 'lane')}."
            step = f"`penstock lanes resume {row['pipeline']} {row['lane_key']}`"
            return because(row, reason, sentence, next_step=step)
        case Reason.NO_WORKER:
            before = ""
            if last_server is not None:
                seen = ago(last_server["heartbeat_at"], row["read_at"])
                before = f" The last one, {last_server['name']}, was seen {seen}."
            step = f"Start one with the app that declares {row['pipeline']!r}: `penstock worker --app module:name`."
            return because(row, reason, f"No live worker serves stage {stage}.{before}", next_step=step)
        case Reason.STAGE_LIMIT:
            return _full(row, reason, f"Stage {stage}", f"stages limit {stage}", row["stage_limit"], running)
        case Reason.LANE_LIMIT:
            command = f"lanes limit {row['pipeline']} {row['lane_key']}"
            return _full(row, reason, group, command, row["lane_limit"], running)
        case Reason.LIMITER:
            until = row["blocked_until"]
            wait = span((until - row["read_at"]).total_seconds())
            cause = f" ({row['blocked_reason']})" if row["blocked_reason"] else ""
            sentence = f"Limit {row['limit_key']!r}, which it needs, opens in {wait}{cause}."
            return because(row, reason, sentence, until=until, next_step="`penstock limits list` shows all budgets.")
        case _:
            return _not_due(row, reason)


def _full(row: Position, reason: Reason, who: str, command: str, limit: int, running: int) -> Why:
    return because(
        row,
        reason,
        f"{who} may run {limit:,} at a time in the whole fleet, and {running:,} of {limit:,} run.",
        next_step=f"It moves up when one ends; `penstock {command} {limit * 2}` allows more.",
    )


def _not_due(row: Position, reason: Reason) -> Why:
    wait = span((row["run_at"] - row["read_at"]).total_seconds())
    cause = failure(row["cause_type"], row["cause_message"])
    step = None
    match reason:
        case Reason.SCHEDULED:
            sentence = f"It was stored with a delay and is due in {wait}."
        case Reason.RETRY if row["cause"] == "not_found":
            # Not "of how many": looking again has a limit of its own, which belongs to the workers.
            again = f"It found nothing and looks again, as try {row['attempt'] + 1}, in {wait}"
            sentence = again + (f" ({cause})." if cause else ".")
        case Reason.RETRY:
            again = f"It waits for try {row['attempt'] + 1} of {row['max_attempts']} in {wait}"
            sentence = again + (f", after {cause}." if cause else ".")
        case Reason.THROTTLED:
            again = f"The other side asked to slow down; it is tried again in {wait} and no try is burned"
            sentence = again + (f" ({cause})." if cause else ".")
        case Reason.VERSION_SKEW:
            worker = f" on worker {row['cause_worker']}" if row["cause_worker"] else ""
            sentence = (
                f"It waits for a worker of another release: its input does not fit {stage_of(row)}{worker}"
                f" ({row['cause_message']}). It is tried again in {wait} and burns no attempt."
            )
            step = (
                "Start a worker of the release that enqueued it. If the input is wrong,"
                f" `penstock tasks cancel {row['task_id']}` and enqueue it again."
            )
        case _:
            sentence = f"It was snoozed and is called again in {wait}" + (f": {cause}." if cause else ".")
    return because(row, reason, sentence, until=row["run_at"], next_step=step)


def stage_of(row: Position) -> str:
    return stage_label(row["pipeline"], row["stage_name"])


def group_of(row: Position) -> str:
    return f"Job {row['lane_job']}" if row["lane_job"] is not None else f"Lane {row['lane_key']!r} of {row['pipeline']}"


def _by(row: Position, what: str) -> str:
    who = f" by {row[f'{what}_paused_by']}" if row[f"{what}_paused_by"] else ""
    why = f": {row[f'{what}_pause_reason']}" if row[f"{what}_pause_reason"] else ""
    return f"{who} for {span((row['read_at'] - row[f'{what}_paused_at']).total_seconds())}{why}"
