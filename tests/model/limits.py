"""Exact fleet-wide limits: claimers of a limited stage lock its row, count what is leased, then claim.

A statement sees what was committed when it started. A claimer that waited for the lock therefore has to count in a
statement of its own: the one that waited still has the old picture.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tests.model.search import Kind, Move


class Step(IntEnum):
    IDLE = 0
    ASKED = 1  # asked for the lock, and has the picture of that moment
    LOCKED = 2
    COUNTED = 3
    CLAIMED = 4  # not committed


class Claimer(NamedTuple):
    """``saw``: leased rows in the picture it decides by. ``locked``: it holds the row of the stage."""

    step: Step = Step.IDLE
    saw: int = 0
    took: int = 0
    locked: bool = False


class State(NamedTuple):
    """``leased`` is what is committed; what a claimer took is seen by others only after its commit."""

    waiting: int
    leased: int
    claimers: tuple[Claimer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    claimers: int = 3
    tasks: int = 4
    limit: int = 2
    mutant: str | None = None

    def first(self) -> State:
        return State(self.tasks, 0, (Claimer(),) * self.claimers)

    def ended(self, state: State) -> bool:
        return state.waiting == 0 and state.leased == 0 and not any(one.took for one in state.claimers)

    def broken(self, state: State) -> str | None:
        return None if state.leased <= self.limit else f"{state.leased} run at the same time, {self.limit} may"

    def moves(self, state: State) -> Iterable[Move[State]]:
        for index, one in enumerate(state.claimers):
            if index and one == state.claimers[index - 1]:
                continue
            yield from self._of(state, index, one)
            if one.step is not Step.IDLE:
                after = _with(state, index, Claimer(), waiting=one.took)
                yield Move(f"claimer {index} dies, its transaction is undone", Kind.FAULT, after)
        if state.leased:
            yield Move("a task ends", Kind.WORK, state._replace(leased=state.leased - 1))

    def _of(self, state: State, index: int, one: Claimer) -> Iterator[Move[State]]:
        name = f"claimer {index}"
        match one.step:
            case Step.IDLE:
                asked = Claimer(Step.ASKED, saw=state.leased)
                yield Move(f"{name} asks for the lock", Kind.WORK, _with(state, index, asked))
            case Step.ASKED:
                if self.mutant == "claimers take turns" or not any(other.locked for other in state.claimers):
                    locked = one._replace(step=Step.LOCKED, locked=True)
                    yield Move(f"{name} gets the lock", Kind.WORK, _with(state, index, locked))
            case Step.LOCKED:
                old = self.mutant == "the count is newer than the lock"
                early = self.mutant == "the lock is kept until the commit"
                counted = Claimer(Step.COUNTED, saw=one.saw if old else state.leased, locked=not early)
                yield Move(f"{name} counts {counted.saw} leased", Kind.WORK, _with(state, index, counted))
            case Step.COUNTED:
                spare = max(0, self.limit - one.saw)
                took = min(spare, state.waiting)
                claimed = one._replace(step=Step.CLAIMED, took=took)
                yield Move(f"{name} claims {took}", Kind.WORK, _with(state, index, claimed, waiting=-took))
            case Step.CLAIMED:
                after = _with(state, index, Claimer(), leased=one.took)
                yield Move(f"{name} commits", Kind.WORK, after)


def _with(state: State, index: int, claimer: Claimer, *, waiting: int = 0, leased: int = 0) -> State:
    claimers = sorted((*state.claimers[:index], claimer, *state.claimers[index + 1 :]))
    return State(state.waiting + waiting, state.leased + leased, tuple(claimers))
