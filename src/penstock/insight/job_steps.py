"""How far a job is on its way through the stages of its pipeline.

Pure: from what each stage holds and what ended there. A task is at one stage or has ended at one, so whoever is behind
a stage has passed it. Counting moves instead would count a task twice that was run again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.lifecycle import JobState

NOT_STARTED = "not-started"
_ENDED = {JobState.DONE: "completed", JobState.FAILED: "failed", JobState.CANCELLED: "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Of one stage. ``done``: moved on, or ended there DONE, NOT_FOUND or SKIPPED; ``failed``: ended there in ERROR."""

    stage: str
    waiting: int
    running: int
    done: int
    failed: int
    cancelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """``current``: ``not-started``, the earliest stage that still holds tasks, ``completed``, ``failed`` or
    ``cancelled``. ``progress``: from 0 to 1, the share of all stages of all tasks that is behind them."""

    current: str
    progress: float
    steps: tuple[Step, ...]


def steps_of(state: JobState, stages: Sequence[Mapping[str, Any]]) -> Steps:
    """``stages`` as ``reads.job_steps`` returns them. What waits in a cancelled job is as good as cancelled."""
    cancelled = state is JobState.CANCELLED
    steps: list[Step] = []
    passed = 0
    for row in reversed(stages):
        # While a deleted job is taken away, its counters may go before its rows.
        present = max(row["present"], row["running"])
        waiting = present - row["running"]
        steps.append(
            Step(
                stage=row["name"],
                waiting=0 if cancelled else waiting,
                running=row["running"],
                done=passed + row["well"],
                failed=row["error"],
                cancelled=row["cancelled"] + (waiting if cancelled else 0),
            )
        )
        passed += present + row["well"] + row["error"] + row["cancelled"]
    steps.reverse()
    return Steps(current=_current(state, steps), progress=_progress(steps, passed), steps=tuple(steps))


def _current(state: JobState, steps: Sequence[Step]) -> str:
    if state in _ENDED:
        return _ENDED[state]
    first = steps[0] if steps else None
    if first is None or not (first.running or first.done or first.failed or first.cancelled):
        return NOT_STARTED
    return next((step.stage for step in steps if step.waiting or step.running), steps[-1].stage)


def _progress(steps: Sequence[Step], total: int) -> float:
    """A task at the second of four stages has a quarter behind it; one that ended has all, wherever that was."""
    if total <= 0:
        return 0.0
    left = sum((step.waiting + step.running) * (len(steps) - index) for index, step in enumerate(steps))
    return max(0.0, 1 - left / (total * len(steps)))
