"""Every legal move of a task and of a job, in one table.

SQL guards, API errors, buttons and the diagram in the docs come from here. Any other move raises :class:`IllegalMove`.
"""

from dataclasses import dataclass
from enum import IntEnum

from penstock.errors import IllegalMove


class State(IntEnum):
    """Public states of a task. The numbers are what the tables hold, so they never change meaning."""

    PENDING = 0
    PROCESSING = 1
    DONE = 2
    ERROR = 3
    NOT_FOUND = 4
    SKIPPED = 5
    CANCELLED = 6

    @property
    def finished(self) -> bool:
        return self >= State.DONE


class JobState(IntEnum):
    """States of a job (``queueState`` in the API)."""

    QUEUED = 0
    RUNNING = 1
    PAUSED = 2
    DONE = 3
    FAILED = 4
    CANCELLED = 5


FINISHED = tuple(state for state in State if state.finished)
UNFINISHED = tuple(state for state in State if not state.finished)
# What runs again when somebody reprocesses a job without naming statuses.
UNSUCCESSFUL = (State.ERROR, State.NOT_FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One named transition. ``burns`` says whether an attempt is counted."""

    name: str
    origins: tuple[State, ...]
    targets: tuple[State, ...]
    burns: bool = False
    by: str
    # What to do instead, for whoever asks for it in another state.
    instead: str = "Look at it again: somebody else may have moved it meanwhile."


# The name of a move, and the cause that an attempt is recorded with.
VERSION_SKEW = "version skew"

MOVES: tuple[Move, ...] = (
    Move(name="claim", origins=(State.PENDING,), targets=(State.PROCESSING,), by="worker"),
    Move(
        name="finish",
        origins=(State.PROCESSING,),
        targets=(State.DONE, State.ERROR, State.NOT_FOUND, State.SKIPPED, State.CANCELLED),
        by="worker",
    ),
    # A task that was asked to stop does not go on to its next stage.
    Move(name="advance", origins=(State.PROCESSING,), targets=(State.PENDING, State.CANCELLED), by="worker"),
    Move(name="retry", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), burns=True, by="worker"),
    Move(name="snooze", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), by="worker"),
    # The stored input does not fit the handler of this release.
    Move(name=VERSION_SKEW, origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), by="worker"),
    Move(name="hand back", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), by="worker"),
    Move(
        name="crash",
        origins=(State.PROCESSING,),
        targets=(State.PENDING, State.SKIPPED, State.ERROR),
        burns=True,
        by="supervisor",
    ),
    Move(name="rescue", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED, State.ERROR), by="upkeep"),
    Move(
        name="cancel",
        origins=UNFINISHED,
        targets=(State.CANCELLED,),
        by="person",
        instead="It has ended, so there is nothing to stop; its outcome stays.",
    ),
    # What waits for its next try need not wait any longer: the reason may be gone.
    # A hasten of what runs is noted, and counts if it snoozes.
    Move(name="hasten", origins=(State.PENDING,), targets=(State.PENDING,), by="person"),
    Move(
        name="reprocess",
        origins=FINISHED,
        targets=(State.PENDING,),
        by="person",
        instead="Wait for its end, or cancel it first.",
    ),
    Move(
        name="replay",
        origins=(State.ERROR,),
        targets=(State.PENDING,),
        by="person",
        instead="Only dead letters are replayed; reprocess starts any finished task again.",
    ),
    Move(
        name="edit",
        # With another input it may be found, or not be left out.
        origins=(State.ERROR, State.NOT_FOUND, State.SKIPPED),
        targets=(State.SKIPPED,),
        by="person",
        instead="Only what failed, was not found or was skipped is edited; enqueue a new task with the input you want.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMove:
    """What people decide about a whole job. A finished job can still be given tasks, so most moves stay possible."""

    name: str
    origins: tuple[JobState, ...]
    instead: str


_NOT_CANCELLED = tuple(state for state in JobState if state is not JobState.CANCELLED)
_SUBMIT_ANEW = "Reprocess its cancelled tasks to bring it back, or submit a new job."

JOB_MOVES: tuple[JobMove, ...] = (
    JobMove(name="pause", origins=_NOT_CANCELLED, instead=_SUBMIT_ANEW),
    JobMove(name="resume", origins=_NOT_CANCELLED, instead=_SUBMIT_ANEW),
    JobMove(name="cancel", origins=_NOT_CANCELLED, instead="It is cancelled already; nothing more of it starts."),
    JobMove(name="delete", origins=tuple(JobState), instead="It is gone already."),
    JobMove(name="reprioritise", origins=_NOT_CANCELLED, instead=_SUBMIT_ANEW),
    JobMove(name="reprocess", origins=tuple(JobState), instead="Look at its tasks."),
)

_BY_NAME = {move.name: move for move in MOVES}
_JOB_BY_NAME = {move.name: move for move in JOB_MOVES}
# What people may do with a task in each state, and with a job: `moves` of the API.
BY_PEOPLE = {
    state: tuple(move.name for move in MOVES if move.by == "person" and state in move.origins) for state in State
}
OF_JOB = {state: tuple(move.name for move in JOB_MOVES if state in move.origins) for state in JobState}


def move(name: str) -> Move:
    return _BY_NAME[name]


def refusal(name: str, state: State, subject: str) -> IllegalMove | None:
    """The error with the states that would have allowed the move; None where it is legal."""
    wanted = _BY_NAME[name]
    return None if state in wanted.origins else _illegal(wanted, state, subject)


def require(name: str, state: State, subject: str) -> None:
    """Raise :class:`IllegalMove` unless the move is legal."""
    if (refused := refusal(name, state, subject)) is not None:
        raise refused


def require_of_job(name: str, state: JobState, subject: str) -> None:
    wanted = _JOB_BY_NAME[name]
    if state not in wanted.origins:
        raise _illegal(wanted, state, subject)


def _illegal(wanted: Move | JobMove, state: State | JobState, subject: str) -> IllegalMove:
    return IllegalMove(
        move=wanted.name,
        subject=subject,
        state=state.name,
        allowed_from=[origin.name for origin in wanted.origins],
        next_step=wanted.instead,
    )
