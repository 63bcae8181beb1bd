"""Why a job takes as long as it does: what the first in line of each of its stages waits for.

Pure: from what one look at the database found. The first stage that is held up names the cause.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.engine.pace_cause import Cause, next_due, paused
from penstock.engine.wording import span, stage_label
from penstock.engine.worker_views import processors_by_state
from penstock.lifecycle import JobState


def cause_of(
    job: Mapping[str, Any],
    state: JobState,
    *,
    importing: bool,
    heads: Sequence[Mapping[str, Any]],
    live: Sequence[Mapping[str, Any]],
    running: Mapping[int, int],
    now: datetime,
) -> Cause | None:
    """``heads``: as ``job_lists.heads`` returns them; ``live``: workers; ``running``: by stage, of limited ones."""
    if state is JobState.PAUSED:
        return Cause(sentence=_paused(job), stops=True)
    if state not in (JobState.QUEUED, JobState.RUNNING):
        return None
    met = [_of_head(head, live, running, now) for head in heads]
    # A stage whose next ones are due later holds up the job only where nothing else can be done before.
    moves = importing or any(one is None or not one.due_later for one in met)
    found = [one for one in met if one is not None and not (moves and one.due_later)]
    if stopping := next((one for one in found if one.stops), None):
        return stopping
    if found:
        return found[0]
    return Cause(sentence="its file is still being stored", stops=False) if importing else None


def _of_head(
    head: Mapping[str, Any], live: Sequence[Mapping[str, Any]], running: Mapping[int, int], now: datetime
) -> Cause | None:
    """In the order in which a claim would be stopped."""
    label = stage_label(head["pipeline"], head["name"])
    if head["paused_at"] is not None:
        return Cause(sentence=f"stage {label} is {_paused(head)}", stops=True)
    if not any(head["stage"] in worker["stages"] for worker in live):
        return Cause(sentence=f"no live worker for stage {label}", stops=True)
    if head["cause"] == "throttled" and head["limit_key"] is not None:
        until = head["blocked_until"]
        if until is not None and until > now:
            why = f" ({head['blocked_reason']})" if head["blocked_reason"] else ""
            return Cause(
                sentence=f"limit {head['limit_key']} opens in {span((until - now).total_seconds())}{why}", stops=False
            )
        if head["rate"] is not None:
            return Cause(sentence=f"limited by {head['limit_key']} {head['rate']:g}/s", stops=False)
    if head["run_at"] > now:
        return Cause(sentence=_later(head, (head["run_at"] - now).total_seconds()), stops=True, due_later=True)
    if head["max_running"] is not None and running.get(head["stage"], 0) >= head["max_running"]:
        return Cause(sentence=f"limited to {head['max_running']:,} at a time in stage {label}", stops=False)
    states = processors_by_state(live, label)
    every = sum(states.values())
    if every and states.get("busy", 0) >= every:
        busy = "the one processor" if every == 1 else f"all {every:,} processors"
        return Cause(sentence=f"{busy} of stage {label} {'is' if every == 1 else 'are'} busy", stops=False)
    return None


def _later(head: Mapping[str, Any], seconds: float) -> str:
    if head["cause"] == "not_found":
        # Not "of how many": looking again has a limit of its own, which belongs to the workers.
        return f"what was not found is looked for again, as try {head['attempt'] + 1}, in {span(seconds)}"
    if head["attempt"]:
        return f"try {head['attempt'] + 1} of {head['max_attempts']} in {span(seconds)}"
    return next_due(seconds)


def _paused(row: Mapping[str, Any]) -> str:
    return paused(row["paused_by"], row["pause_reason"])
