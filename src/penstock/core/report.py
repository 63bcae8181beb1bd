"""Tells what became of tasks, as the database answered it: never what was asked for.

Whoever settles (the settler, a transaction of a handler, burial, rescue) tells it here, so that logs, counters and
outside listeners hear of every ending once and of no ending that was refused.
"""

from collections.abc import Iterable, Mapping, Sequence

from penstock.core.version_skew import CAUSE
from penstock.events import Events
from penstock.lifecycle import State
from penstock.model import Advance, Claimed, Finish, Release, Settlement

# Ends and ways back that somebody asked for: nothing failed.
_PLANNED = frozenset({"NOT_FOUND", "SKIPPED", "CANCELLED", "snooze", "not_found", CAUSE})

_Ended = tuple[int, State, int]  # stage, state, task


def tell_finished(events: Events, ended: Iterable[Finish]) -> None:
    _tell(events, ((one.stage, one.status, one.task_id) for one in ended))


def tell_advanced(events: Events, batch: Sequence[Advance], answer: Mapping[int, bool]) -> None:
    """``answer``: task → whether it ended because somebody had cancelled it."""
    by_stage: dict[int, list[int]] = {}
    for one in batch:
        if answer.get(one.task_id) is False:
            by_stage.setdefault(one.stage, []).append(one.task_id)
    for stage, task_ids in by_stage.items():
        events.emit("tasks.advanced", stage=stage, count=len(task_ids), tasks=task_ids)
    _tell(events, ((one.stage, State.CANCELLED, one.task_id) for one in batch if answer.get(one.task_id)))


def tell_released(events: Events, batch: Sequence[Release], answer: Mapping[int, int]) -> None:
    """``answer``: task → the state it ended in, 0 where it waits again."""
    waiting: dict[tuple[int, str | None], list[int]] = {}
    for one in batch:
        if answer.get(one.task_id) == State.PENDING:
            waiting.setdefault((one.stage, one.cause), []).append(one.task_id)
    for (stage, cause), task_ids in waiting.items():
        events.emit("tasks.released", stage=stage, cause=cause, count=len(task_ids), tasks=task_ids)
    _tell(events, ((one.stage, State(answer[one.task_id]), one.task_id) for one in batch if answer.get(one.task_id)))


def tell_stale(events: Events, refused: Iterable[Settlement]) -> None:
    """Settlements whose lease was not the current one any more."""
    for stage, task_ids in _by_stage(refused).items():
        events.emit("tasks.stale", stage=stage, count=len(task_ids), tasks=task_ids)


def tell_crashed(events: Events, released: Iterable[Release], *, worker: int) -> None:
    for stage, task_ids in _by_stage(released).items():
        events.emit("tasks.crashed", stage=stage, worker=worker, count=len(task_ids), tasks=task_ids)


def tell_rescued(events: Events, released: Iterable[Release], *, worker: int) -> None:
    for stage, task_ids in _by_stage(released).items():
        events.emit("tasks.rescued", stage=stage, worker=worker, count=len(task_ids), tasks=task_ids)


def _by_stage(settlements: Iterable[Settlement]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for one in settlements:
        found.setdefault(one.stage, []).append(one.task_id)
    return found


def _tell(events: Events, ended: Iterable[_Ended]) -> None:
    by_end: dict[tuple[int, State], list[int]] = {}
    for stage, state, task_id in ended:
        by_end.setdefault((stage, state), []).append(task_id)
    for (stage, state), task_ids in by_end.items():
        events.emit("tasks.finished", stage=stage, state=State(state).name, count=len(task_ids), tasks=task_ids)


def tell_failed(events: Events, claimed: Claimed, settlement: Settlement, label: str) -> bool:
    """A run that failed, and whether that is an error of the stage. The reason that a handler gives for an ending it
    planned is no failure."""
    if not isinstance(settlement, Finish | Release) or settlement.error is None:
        return False
    then = settlement.status.name if isinstance(settlement, Finish) else settlement.cause
    if then in _PLANNED:
        return False
    events.emit(
        "tasks.failed",
        task=claimed.task_id,
        stage=label,
        attempt=claimed.attempt + 1,
        max_attempts=claimed.max_attempts,
        then=then,
        error=settlement.error,
    )
    return isinstance(settlement, Finish) or settlement.burned
