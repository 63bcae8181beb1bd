"""Every legal move of a task and of a job, in one table.

SQL guards, API errors, buttons and the diagram in the docs are drawn from here. A move that is not
listed does not exist; a move in a state that is not listed raises :class:`IllegalMove`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One named transition. ``burns`` says whether an attempt is counted."""

    name: str
    origins: tuple[State, ...]
    targets: tuple[State, ...]
    burns: bool = False
    by: str


MOVES: tuple[Move, ...] = (
    Move(name="claim", origins=(State.PENDING,), targets=(State.PROCESSING,), by="worker"),
    Move(
        name="finish",
        origins=(State.PROCESSING,),
        targets=(State.DONE, State.ERROR, State.NOT_FOUND, State.SKIPPED, State.CANCELLED),
        by="worker",
    ),
    Move(name="advance", origins=(State.PROCESSING,), targets=(State.PENDING,), by="worker"),
    Move(name="retry", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), burns=True, by="worker"),
    Move(name="snooze", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), by="worker"),
    Move(name="hand back", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED), by="worker"),
    Move(
        name="crash",
        origins=(State.PROCESSING,),
        targets=(State.PENDING, State.SKIPPED, State.ERROR),
        burns=True,
        by="supervisor",
    ),
    Move(name="rescue", origins=(State.PROCESSING,), targets=(State.PENDING, State.SKIPPED, State.ERROR), by="upkeep"),
    Move(name="cancel", origins=UNFINISHED, targets=(State.CANCELLED,), by="person"),
    Move(name="reprocess", origins=FINISHED, targets=(State.PENDING,), by="person"),
    Move(name="edit", origins=(State.ERROR,), targets=(State.SKIPPED,), by="person"),
)

_BY_NAME = {move.name: move for move in MOVES}


def move(name: str) -> Move:
    return _BY_NAME[name]


def allowed(name: str, state: State) -> bool:
    """Whether the move may start in this state; the UI shows its button by this."""
    return state in _BY_NAME[name].origins


def require(name: str, state: State, subject: str) -> None:
    """Raise :class:`IllegalMove` with the states that would have allowed it."""
    if not allowed(name, state):
        raise IllegalMove(
            move=name, subject=subject, state=state.name, allowed_from=[s.name for s in _BY_NAME[name].origins]
        )


def diagram() -> str:
    """The life cycle as a Mermaid state diagram, kept in the docs by a test."""
    lines = ["stateDiagram-v2", "    [*] --> PENDING: enqueue"]
    drawn: dict[tuple[State, State], list[str]] = {}
    for one in MOVES:
        for origin in one.origins:
            for target in one.targets:
                drawn.setdefault((origin, target), []).append(one.name)
    for (origin, target), names in sorted(drawn.items()):
        lines.append(f"    {origin.name} --> {target.name}: {', '.join(names)}")
    lines += [f"    {state.name} --> [*]" for state in FINISHED]
    return "\n".join(lines) + "\n"
