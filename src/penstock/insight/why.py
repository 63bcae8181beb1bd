"""Why a task is not running, and what would change that.

One row says where the task stands, ``waiting`` decides what stops its claim. Everything is read in one snapshot, at the
database's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.brokers.stage_transports import Telling, Unclaimed, bypassed, telling, untold, waits_for_worker
from penstock.errors import TaskNotFound
from penstock.insight.waiting import LATER, Reason, Waiting, reason_of
from penstock.insight.worker_views import processors_by_state
from penstock.lifecycle import State
from penstock.observe.wording import ago, failure, rate, span, stage_label
from penstock.storage import reads

__all__ = ["Reason", "Why", "explain"]

Connection = Any
Position = Mapping[str, Any]
# The reason in a sentence, and what a person can do.
Said = tuple[Reason, str, str | None]

_COUNTED_AHEAD = 1000
# A worker that is awake looks at least every second; beyond this something keeps it from looking.
_LATE_SECONDS = 10.0


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


async def explain(connection: Connection, task_id: int) -> Why:
    """Finished, running, or the first that stops its claim."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await reads.position(connection, task_id)
        if row is None:
            raise TaskNotFound(task_id)
        state = State.PENDING
        if not row["queued"]:
            state, said = State(row["status"]), _finished(row)
        elif row["worker"] is not None:
            state, said = State.PROCESSING, _leased(row)
        else:
            said = await _unclaimed(connection, row)
    reason, sentence, next_step = said
    return Why(
        task_id=row["task_id"],
        state=State.CANCELLED if reason is Reason.CANCELLED else state,
        reason=reason,
        sentence=sentence,
        until=row["run_at"] if reason in LATER else row["blocked_until"] if reason is Reason.LIMITER else None,
        next_step=next_step,
        read_at=row["read_at"],
    )


async def _unclaimed(connection: Connection, row: Position) -> Said:
    servers = await reads.servers_of_stage(connection, row["stage"])
    live = [one for one in servers if one["live"]]
    in_stage = in_lane = 0
    if row["stage_limit"] is not None:
        in_stage = await reads.leased_of_stage(connection, row["stage"])
    if row["lane_limit"] is not None:
        in_lane = await reads.leased_of_lane(connection, row["pipeline"], row["lane"])
    reason = reason_of(_waiting(row, served=bool(live), in_stage=in_stage, in_lane=in_lane))
    if reason is not None:
        running = in_lane if reason is Reason.LANE_LIMIT else in_stage
        return reason, *_stopped(row, reason, running=running, last_server=servers[0] if servers else None)
    told = await telling(connection, row, live)
    if (unheard := untold(row, told)) is not None:
        return _of_broker(unheard)
    reason, sentence, next_step = await _in_line(connection, row, live, told)
    return reason, sentence + bypassed(told), next_step


def _waiting(row: Position, *, served: bool, in_stage: int, in_lane: int) -> Waiting:
    """Whether a processor is free does not matter before it is next."""
    paused = row["lane_paused_at"] is not None
    throttled = row["cause"] == "throttled" and row["blocked_until"] is not None
    return Waiting(
        cancelled=row["lane_cancelled_at"] is not None,
        stage_paused=None if row["stage_paused_at"] is None else "paused",
        job_paused=paused and row["lane_job"] is not None,
        lane_paused=paused,
        due_seconds=(row["run_at"] - row["read_at"]).total_seconds(),
        # A wait that its last attempt did not ask for comes from the enqueue.
        cause=row["cause"] if row["next_run_at"] == row["run_at"] else None,
        one_task=True,
        served=served,
        running=in_stage,
        max_running=row["stage_limit"],
        lane_full=row["lane_limit"] is not None and in_lane >= row["lane_limit"],
        limited_by=row["limit_key"] if throttled and row["blocked_until"] > row["read_at"] else None,
    )


async def _in_line(connection: Connection, row: Position, live: list[dict[str, Any]], told: Telling | None) -> Said:
    """Due, and somebody serves it: what is ahead, whether anybody is free."""
    ahead = await reads.ahead_in_lane(
        connection,
        stage=row["stage"],
        lane=row["lane"],
        run_at=row["run_at"],
        task_id=row["task_id"],
        at_most=_COUNTED_AHEAD,
    )
    first, turns = await reads.ahead_by_priority(
        connection, stage=row["stage"], priority=row["priority"], pipeline=row["pipeline"]
    )
    pace = (await reads.stage_rates(connection)).get(row["stage"], {}).get("ended_per_second", 0.0)
    if first or ahead:
        step = "More workers, or a higher priority at enqueue, bring it forward."
        return Reason.BEHIND, _line(ahead, first, turns, pace), step
    processors = processors_by_state(live, stage_of(row))
    if reason_of(Waiting(processors=processors)) is Reason.BUSY:
        every = sum(processors.values())
        sentence = f"It is next, and all {every:,} processors of stage {stage_of(row)} are busy."
        return Reason.BUSY, sentence, "It starts when one is free; more workers or a larger pool take it sooner."
    if alone := _alone(live):
        name, task = alone
        sentence = (
            f"It is next, but worker {name} is running task {task} alone, because task {task} may crash its process."
        )
        return Reason.BUSY, sentence, f"It starts when task {task} ends, or at once on another worker."
    if told is not None and not told.bypassed:
        return _of_broker(waits_for_worker(row, told))
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        names = ", ".join(server["name"] for server in live)
        sentence = (
            f"It has been due for {span(waited)} and is next, but no worker has claimed it, although {names}"
            f" {'is' if len(live) == 1 else 'are'} alive and {'has' if len(live) == 1 else 'have'} capacity."
        )
        step = "The paced profile looks once a minute; otherwise read the worker's log and restart it."
        return Reason.OVERLOOKED, sentence, step
    return Reason.DUE, "It is due; a worker should claim it within a second.", None


def _of_broker(found: Unclaimed) -> Said:
    reason, sentence, next_step = found
    return Reason(reason), sentence, next_step


def _line(ahead: int, first: int, turns: int, pace: float) -> str:
    """Written ≈: the counters hold tasks that are not due yet, and lanes take turns."""
    in_lane = f"{ahead:,} or more" if ahead >= _COUNTED_AHEAD else f"{ahead:,}"
    parts = [f"{in_lane} in its own lane"] if ahead else []
    if first:
        parts.append(f"≈ {first:,} in lanes of higher priority")
    sentence = f"It is due, behind {' and '.join(parts)}"
    if turns > 1:
        sentence += f"; {turns - 1:,} more lanes take turns with its own"
    if pace > 0 and ahead < _COUNTED_AHEAD:
        sentence += f". At {rate(pace)} that is ≈ {span((ahead * max(turns, 1) + first) / pace)}"
    return sentence + "."


def _alone(live: list[dict[str, Any]]) -> tuple[str, int] | None:
    """A live worker and the task it runs alone, where all of them do that: nobody could start anything else."""
    found = [(server["name"], server["status"].get("alone")) for server in live]
    return found[0] if found and all(task for _, task in found) else None


# ---------------------------------------------------------------- in words


def _finished(row: Position) -> Said:
    state = State(row["status"])
    cause = failure(row["error_type"], row["error_message"])
    sentence = f"It ended {state.name} {ago(row['finished_at'], row['read_at'])}" + (f": {cause}." if cause else ".")
    return Reason.FINISHED, sentence, _after_the_end(state, row["task_id"])


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


def _leased(row: Position) -> Said:
    """Held by a worker: running, asked to stop, or left behind by one that is gone."""
    name = row["worker_name"] or f"number {row['worker']}"
    gone = row["worker_name"] is None or row["died_at"] or row["stopped_at"] or row["lease_until"] < row["read_at"]
    if gone:
        sentence = f"Worker {name} held it and is gone; the rescue gives it back within seconds while any worker lives."
        step = "If it stays like this, start a worker: `penstock worker --app module:name`."
        return Reason.WORKER_LOST, sentence, step
    since = ago(row["updated_at"], row["read_at"])
    if row["cancel_at"] is not None or row["lane_cancelled_at"] is not None:
        sentence = f"Worker {name} took it {since} and was asked to stop; it ends CANCELLED when the handler lets go."
        return Reason.STOPPING, sentence, "A handler that does not react is killed at its deadline."
    sentence = f"Worker {name} took it {since}, on try {row['attempt'] + 1} of {row['max_attempts']}."
    return Reason.RUNNING, sentence, None


def _stopped(
    row: Position, reason: Reason, *, running: int, last_server: Mapping[str, Any] | None
) -> tuple[str, str | None]:
    """What keeps it from being claimed. ``running``: of the stage or lane whose limit is reached; ``last_server``: the
    worker that served the stage last, where none is alive."""
    stage, group = stage_of(row), group_of(row)
    match reason:
        case Reason.CANCELLED:
            who = f"by {row['lane_cancelled_by']} {ago(row['lane_cancelled_at'], row['read_at'])}"
            sentence = f"{group} was cancelled {who}; the sweep ends it within seconds while any worker lives."
            return sentence, None
        case Reason.STAGE_PAUSED:
            return f"Stage {stage} is paused{_by(row, 'stage')}.", f"`penstock stages resume {stage}`"
        case Reason.JOB_PAUSED:
            return f"{group} is paused{_by(row, 'lane')}.", f"`penstock jobs resume {row['lane_job']}`"
        case Reason.LANE_PAUSED:
            step = f"`penstock lanes resume {row['pipeline']} {row['lane_key']}`"
            return f"{group} is paused{_by(row, 'lane')}.", step
        case Reason.NO_WORKER:
            before = ""
            if last_server is not None:
                seen = ago(last_server["heartbeat_at"], row["read_at"])
                before = f" The last one, {last_server['name']}, was seen {seen}."
            step = f"Start one with the app that declares {row['pipeline']!r}: `penstock worker --app module:name`."
            return f"No live worker serves stage {stage}.{before}", step
        case Reason.STAGE_LIMIT:
            return _full(f"Stage {stage}", f"stages limit {stage}", row["stage_limit"], running)
        case Reason.LANE_LIMIT:
            command = f"lanes limit {row['pipeline']} {row['lane_key']}"
            return _full(group, command, row["lane_limit"], running)
        case Reason.LIMITER:
            wait = span((row["blocked_until"] - row["read_at"]).total_seconds())
            cause = f" ({row['blocked_reason']})" if row["blocked_reason"] else ""
            sentence = f"Limit {row['limit_key']!r}, which it needs, opens in {wait}{cause}."
            return sentence, "`penstock limits list` shows all budgets."
        case _:
            return _not_due(row, reason)


def _full(who: str, command: str, limit: int, running: int) -> tuple[str, str]:
    sentence = f"{who} may run {limit:,} at a time in the whole fleet, and {running:,} of {limit:,} run."
    return sentence, f"It moves up when one ends; `penstock {command} {limit * 2}` allows more."


def _not_due(row: Position, reason: Reason) -> tuple[str, str | None]:
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
    return sentence, step


def stage_of(row: Position) -> str:
    return stage_label(row["pipeline"], row["stage_name"])


def group_of(row: Position) -> str:
    return f"Job {row['lane_job']}" if row["lane_job"] is not None else f"Lane {row['lane_key']!r} of {row['pipeline']}"


def _by(row: Position, what: str) -> str:
    who = f" by {row[f'{what}_paused_by']}" if row[f"{what}_paused_by"] else ""
    why = f": {row[f'{what}_pause_reason']}" if row[f"{what}_pause_reason"] else ""
    return f"{who} for {span((row['read_at'] - row[f'{what}_paused_at']).total_seconds())}{why}"
