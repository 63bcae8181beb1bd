"""Why something waits: decided here for tasks, items, jobs and stages alike; each of them phrases the reason.

Pure: from what one look at the database found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from penstock.insight.worker_views import processors_by_state
from penstock.lifecycle import VERSION_SKEW, JobState
from penstock.observe.wording import rate, span, stage_label
from penstock.storage.limits import KnownLimit


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


# What a task waits for whose time has not come, by the cause of its last attempt. Any other cause: a snooze.
_NOT_DUE: dict[str | None, Reason] = {
    None: Reason.SCHEDULED,
    "retry": Reason.RETRY,
    "timeout": Reason.RETRY,
    "crash": Reason.RETRY,
    "rescue": Reason.RETRY,
    "database": Reason.RETRY,
    "not_found": Reason.RETRY,
    "throttled": Reason.THROTTLED,
    VERSION_SKEW: Reason.VERSION_SKEW,
}
# It waits for its `run_at`.
LATER = frozenset({*_NOT_DUE.values(), Reason.SNOOZED})
_PAUSED = frozenset({Reason.STAGE_PAUSED, Reason.JOB_PAUSED, Reason.LANE_PAUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What one look knows of a task that waits, or of the first in line where many do.

    ``stage_paused`` and ``limited_by``: in words, None where nobody paused it and no limit holds it up.
    ``lane_paused``: nothing outside of paused lanes waits. ``due_seconds``: until it may run, not above zero where it
    may now; ``cause``: of its last attempt. ``one_task``: somebody asks about this one, so its own time counts before
    who would run it.
    """

    waiting: bool = True
    cancelled: bool = False
    stage_paused: str | None = None
    job_paused: bool = False
    lane_paused: bool = False
    due_seconds: float = 0.0
    cause: str | None = None
    one_task: bool = False
    served: bool = True
    running: int = 0
    max_running: int | None = None
    lane_full: bool = False
    limited_by: str | None = None
    processors: Mapping[str, int] = field(default_factory=dict)


def reason_of(seen: Waiting) -> Reason | None:
    """In the order in which a claim would be stopped. None: nothing holds it up that we know of."""
    not_due = _NOT_DUE.get(seen.cause, Reason.SNOOZED) if seen.due_seconds > 0 else None
    every = sum(seen.processors.values())
    for holds, reason in (
        (seen.cancelled, Reason.CANCELLED),
        (seen.stage_paused is not None, Reason.STAGE_PAUSED),
        (seen.job_paused, Reason.JOB_PAUSED),
        (seen.lane_paused, Reason.LANE_PAUSED),
        (seen.one_task, not_due),
        (not seen.served, Reason.NO_WORKER),
        # What meets a limit is put off until it opens, which is no reason to call it not due.
        (seen.limited_by is None, not_due),
        (seen.max_running is not None and seen.running >= seen.max_running, Reason.STAGE_LIMIT),
        (seen.lane_full, Reason.LANE_LIMIT),
        (seen.limited_by is not None, Reason.LIMITER),
        (every > 0 and not seen.processors.get("idle", 0), Reason.BUSY),
    ):
        if holds and reason is not None:
            return reason
    return None


def paused(by: str | None, reason: str | None) -> str:
    """ "paused by ann: lunch"."""
    return "paused" + (f" by {by}" if by else "") + (f": {reason}" if reason else "")


def paused_stage(row: Mapping[str, Any]) -> str | None:
    return None if row["paused_at"] is None else paused(row["paused_by"], row["pause_reason"])


# ---------------------------------------------------------------- stages and jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What sets the pace of many that wait. ``reason`` None: a file that is still being stored."""

    reason: Reason | None
    sentence: str

    @property
    def stops(self) -> bool:
        """Nothing gets past it, so the pace of the last minute says nothing about the end."""
        return self.reason is Reason.NO_WORKER or self.reason in _PAUSED or self.due_later

    @property
    def due_later(self) -> bool:
        """Nothing of the stage is due before then."""
        return self.reason in LATER


def cause_of(seen: Waiting, *, stage: str | None = None, later: str | None = None) -> Cause | None:
    """What sets the pace of a stage; of a job where ``stage`` names the one of its stages that was looked at.
    ``later``: what to say where the first in line is not due."""
    reason = reason_of(seen) if seen.waiting else None
    every = sum(seen.processors.values())
    match reason:
        case None:
            return None
        case Reason.STAGE_PAUSED:
            own, of_job = seen.stage_paused or "", f"stage {stage} is {seen.stage_paused}"
        case Reason.LANE_PAUSED:
            own = of_job = "what waits is in paused lanes"
        case Reason.NO_WORKER:
            own, of_job = "no live worker serves it", f"no live worker for stage {stage}"
        case Reason.STAGE_LIMIT:
            own = f"at most {seen.max_running:,} run at a time"
            of_job = f"limited to {seen.max_running:,} at a time in stage {stage}"
        case Reason.LIMITER:
            own = of_job = seen.limited_by or ""
        case Reason.BUSY if every == 1:
            own, of_job = "its only processor is busy", f"the one processor of stage {stage} is busy"
        case Reason.BUSY:
            own = f"all {every:,} processors are busy"
            of_job = f"all {every:,} processors of stage {stage} are busy"
        case _:
            own = of_job = later or f"the next one is due in {span(seen.due_seconds)}"
    return Cause(reason=reason, sentence=own if stage is None else of_job)


def limited_by(limit: KnownLimit) -> str | None:
    """The key that held a task of a stage up in the last minute."""
    if limit.open:
        return f"the circuit of {limit.key} is open"
    if limit.blocked_seconds > 0:
        return f"{limit.key} is closed for {span(limit.blocked_seconds)}"
    return f"limited by {limit.key} {rate(limit.rate)}" if limit.rate else None


def cause_of_job(
    job: Mapping[str, Any],
    state: JobState,
    *,
    importing: bool,
    heads: Sequence[Mapping[str, Any]],
    live: Sequence[Mapping[str, Any]],
    running: Mapping[int, int],
    now: datetime,
) -> Cause | None:
    """Why it takes as long as it does: the first of its stages that is held up names the cause.

    ``heads``: the first in line of each stage, as ``job_lists.heads`` returns them; ``live``: workers; ``running``: by
    stage, of limited ones.
    """
    if state is JobState.PAUSED:
        return Cause(reason=Reason.JOB_PAUSED, sentence=paused(job["paused_by"], job["pause_reason"]))
    if state not in (JobState.QUEUED, JobState.RUNNING):
        return None
    met = [_cause_of_head(head, live, running.get(head["stage"], 0), now) for head in heads]
    # A stage whose next ones are due later holds up the job only where nothing else can be done before.
    moves = importing or any(one is None or not one.due_later for one in met)
    found = [one for one in met if one is not None and not (moves and one.due_later)]
    if stopping := next((one for one in found if one.stops), None):
        return stopping
    if found:
        return found[0]
    return Cause(reason=None, sentence="its file is still being stored") if importing else None


def _cause_of_head(
    head: Mapping[str, Any], live: Sequence[Mapping[str, Any]], running: int, now: datetime
) -> Cause | None:
    label = stage_label(head["pipeline"], head["name"])
    seen = Waiting(
        stage_paused=paused_stage(head),
        due_seconds=(head["run_at"] - now).total_seconds(),
        served=any(head["stage"] in worker["stages"] for worker in live),
        running=running,
        max_running=head["max_running"],
        limited_by=_limit_of_head(head, now),
        processors=processors_by_state(live, label),
    )
    return cause_of(seen, stage=label, later=_later(head, seen.due_seconds))


def _limit_of_head(head: Mapping[str, Any], now: datetime) -> str | None:
    """What the last try of the first in line met."""
    if head["cause"] != "throttled" or head["limit_key"] is None:
        return None
    until = head["blocked_until"]
    if until is not None and until > now:
        why = f" ({head['blocked_reason']})" if head["blocked_reason"] else ""
        return f"limit {head['limit_key']} opens in {span((until - now).total_seconds())}{why}"
    return None if head["rate"] is None else f"limited by {head['limit_key']} {head['rate']:g}/s"


def _later(head: Mapping[str, Any], seconds: float) -> str | None:
    if head["cause"] == "not_found":
        # Not "of how many": looking again has a limit of its own, which belongs to the workers.
        return f"retrying unmatched rows in {span(seconds)} (attempt {head['attempt'] + 1})"
    return f"try {head['attempt'] + 1} of {head['max_attempts']} in {span(seconds)}" if head["attempt"] else None


# ---------------------------------------------------------------- items in a list


def note_of_item(row: Mapping[str, Any]) -> str:
    """As far as a row of a list tells; ``why.explain`` knows everything."""
    stage_paused = None if row["stage_paused_at"] is None else f"the stage {row['stage']} is paused"
    seconds = (row["run_at"] - row["read_at"]).total_seconds()
    job_paused = row["lane_paused_at"] is not None
    match reason_of(Waiting(stage_paused=stage_paused, job_paused=job_paused, due_seconds=seconds, one_task=True)):
        case None:
            return "due; waits for its turn"
        case Reason.STAGE_PAUSED:
            return stage_paused or ""
        case Reason.JOB_PAUSED:
            return paused(row["paused_by"], row["pause_reason"])
        case _ if row["cause"] == "not_found":
            return f"not found; looks again in {span(seconds)}, as try {row['attempts'] + 1}"
        case _:
            after = f" after {row['cause'].replace('_', ' ')}" if row["cause"] else ""
            tries = f"try {row['attempts'] + 1} of {row['max_attempts']} " if row["attempts"] else ""
            return f"{tries}in {span(seconds)}{after}"
