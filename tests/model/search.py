"""Visits all reachable states of a model, breadth first.

Breadth first makes the first broken promise found the one with the shortest history, which is the one a person
can read. After the search, the graph is walked backwards from the states where everything has ended: a state that
is not met on that walk has lost a task.
"""

import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

State = TypeVar("State", bound=Hashable)


class Kind(Enum):
    """Who makes a move. Only WORK may be needed for things to end: faults stop, and people do not help."""

    WORK = "work"
    FAULT = "fault"
    PERSON = "person"


class Move(NamedTuple, Generic[State]):
    """``broken`` is a promise that this very step breaks, if any."""

    says: str
    kind: Kind
    after: State
    broken: str | None = None


class Model(Protocol[State]):
    """States are canonical: two that differ only in names that do not matter are equal."""

    def first(self) -> State: ...
    def moves(self, state: State) -> Iterable[Move[State]]: ...
    def broken(self, state: State) -> str | None: ...
    def ended(self, state: State) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search came back with. ``broken`` None: every promise holds in every state."""

    states: int
    steps: int
    seconds: float
    broken: str | None = None
    trace: tuple[str, ...] = field(default=())

    def told(self) -> str:
        """For people: how much was seen, or what went wrong and how."""
        seen = f"{self.states} states, {self.steps} steps in {self.seconds:.1f} s"
        if self.broken is None:
            return f"every promise holds in all of {seen}"
        lines = [f"{self.broken} (after {seen})"]
        lines += [f"  {number}. {step}" for number, step in enumerate(self.trace, start=1)]
        return "\n".join(lines)


class TooManyStates(Exception):
    """The model is not bounded the way its author thought."""


def search(model: Model[State], *, most_states: int = 1_000_000) -> Found:
    """Every state, or the shortest way to the first broken promise."""
    return _Search(model, most_states).run()


class _Search(Generic[State]):
    """States get numbers in the order they are met, so that the graph is kept in small lists."""

    def __init__(self, model: Model[State], most_states: int) -> None:
        self._model = model
        self._most = most_states
        self._started = time.monotonic()
        self._steps = 0
        self._number: dict[State, int] = {}
        self._states: list[State] = []
        # How each state was met first: the state before, and the step in words.
        self._origin: list[tuple[int, str]] = []
        # By which states work leads here.
        self._before: list[list[int]] = []
        self._ended: list[int] = []

    def run(self) -> Found:
        self._meet(self._model.first(), -1, "")
        at = 0
        while at < len(self._states):
            state = self._states[at]
            if (broken := self._model.broken(state)) is not None:
                return self._found(broken, at)
            if self._model.ended(state):
                self._ended.append(at)
            for move in self._model.moves(state):
                self._steps += 1
                if move.broken is not None:
                    return self._found(move.broken, at, move.says)
                after = self._number.get(move.after)
                if after is None:
                    after = self._meet(move.after, at, move.says)
                if move.kind is Kind.WORK:
                    self._before[after].append(at)
            at += 1
        return self._lost() or self._found(None)

    def _meet(self, state: State, before: int, says: str) -> int:
        number = len(self._states)
        if number >= self._most:
            raise TooManyStates(f"more than {self._most} states; the newest: {state}")
        self._number[state] = number
        self._states.append(state)
        self._origin.append((before, says))
        self._before.append([])
        return number

    def _lost(self) -> Found | None:
        """A state from which work alone does not reach an end; the earliest met is the easiest to read."""
        safe = [False] * len(self._states)
        for number in self._ended:
            safe[number] = True
        waiting = list(self._ended)
        while waiting:
            for number in self._before[waiting.pop()]:
                if not safe[number]:
                    safe[number] = True
                    waiting.append(number)
        if all(safe):
            return None
        return self._found("a task is lost: no work leads to its end from here", safe.index(False))

    def _found(self, broken: str | None, at: int = -1, last: str | None = None) -> Found:
        return Found(
            states=len(self._states),
            steps=self._steps,
            seconds=time.monotonic() - self._started,
            broken=broken,
            trace=self._trace(at, last),
        )

    def _trace(self, at: int, last: str | None) -> tuple[str, ...]:
        steps = [] if last is None else [last]
        while at > 0:
            at, says = self._origin[at]
            steps.append(says)
        return tuple(reversed(steps))
