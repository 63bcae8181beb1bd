"""Switching an idle lane off while somebody enqueues into it.

An enqueuer holds a key-share lock on its lane from its look at it until its commit. The cleaner takes the stronger
lock, skipping lanes that are in use, and looks a second time: what was committed between its first look and the
lock is seen only then. An enqueuer that finds its lane off leaves a wake; upkeep turns wakes into lanes that are on.
Workers look at lanes that are on or woken, so a row in any other lane would never run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tests.model.search import Kind, Move


class Enqueuer(IntEnum):
    IDLE = 0
    SAW_ON = 1  # and will leave the lane as it is
    SAW_OFF = 2  # and will leave a wake


class Cleaner(IntEnum):
    IDLE = 0
    SAW_EMPTY = 1
    LOCKED = 2
    SAW_EMPTY_AGAIN = 3


class Upkeep(NamedTuple):
    """The statement that takes wakes, with the picture it started with."""

    wakes: int = 0
    saw_off: bool = False


class State(NamedTuple):
    """``wakes``: rows that say that the lane holds work again."""

    on: bool
    wakes: int
    cancelled: bool
    rows: int
    left: int  # tasks still to be enqueued
    enqueuers: tuple[Enqueuer, ...]
    cleaner: Cleaner
    upkeep: Upkeep = Upkeep()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    enqueuers: int = 3
    tasks: int = 4
    mutant: str | None = None

    def first(self) -> State:
        return State(False, 0, False, 0, self.tasks, (Enqueuer.IDLE,) * self.enqueuers, Cleaner.IDLE)

    def ended(self, state: State) -> bool:
        return state.rows == 0 and state.left == 0 and not any(state.enqueuers)

    def broken(self, state: State) -> str | None:
        return "a lane that nobody looks at holds a row" if state.rows and not _looked_at(state) else None

    def moves(self, state: State) -> Iterable[Move[State]]:
        for index, enqueuer in enumerate(state.enqueuers):
            if not index or enqueuer != state.enqueuers[index - 1]:
                yield from self._of_enqueuer(state, index, enqueuer)
        yield from self._of_cleaner(state)
        yield from self._of_upkeep(state)
        if state.rows and (state.on if state.cancelled else _looked_at(state)):
            says = "the sweep ends a row" if state.cancelled else "a worker takes a row and finishes it"
            yield Move(says, Kind.WORK, state._replace(rows=state.rows - 1))
        if not state.cancelled and not self._locked(state):
            yield Move("somebody cancels the lane", Kind.PERSON, state._replace(cancelled=True, on=True))

    def _locked(self, state: State) -> bool:
        held = state.cleaner in (Cleaner.LOCKED, Cleaner.SAW_EMPTY_AGAIN)
        return held and self.mutant != "the cleaner locks the lane"

    def _of_enqueuer(self, state: State, index: int, enqueuer: Enqueuer) -> Iterator[Move[State]]:
        name = f"enqueuer {index}"
        if enqueuer is Enqueuer.IDLE:
            if state.left and state.cancelled:
                yield Move(f"{name} opens another lane", Kind.WORK, state._replace(left=state.left - 1))
            elif state.left and not self._locked(state):
                saw = Enqueuer.SAW_ON if state.on else Enqueuer.SAW_OFF
                after = _with(state, index, saw)._replace(left=state.left - 1)
                yield Move(f"{name} opens the lane ({saw.name.lower().replace('_', ' ')})", Kind.WORK, after)
            return
        wakes = enqueuer is Enqueuer.SAW_OFF and self.mutant != "an enqueue wakes its lane"
        stored = _with(state, index, Enqueuer.IDLE)._replace(rows=state.rows + 1, wakes=state.wakes + wakes)
        yield Move(f"{name} commits its row", Kind.WORK, stored)
        undone = _with(state, index, Enqueuer.IDLE)._replace(left=state.left + 1)
        yield Move(f"{name} dies, its transaction is undone", Kind.FAULT, undone)

    def _of_upkeep(self, state: State) -> Iterator[Move[State]]:
        """Sees the wakes and the lane of one moment, takes those wakes at another."""
        if not state.upkeep.wakes:
            if state.wakes:
                saw = Upkeep(state.wakes, not state.on)
                yield Move(f"upkeep sees {state.wakes} wakes", Kind.WORK, state._replace(upkeep=saw))
            return
        if self._locked(state) and state.upkeep.saw_off:
            return  # it waits for the lock of the lane
        greedy = self.mutant == "upkeep takes only the wakes it saw"
        left = 0 if greedy else state.wakes - state.upkeep.wakes
        on = state.on or (state.upkeep.saw_off and self.mutant != "a wake switches its lane on")
        yield Move("upkeep takes the wakes", Kind.WORK, state._replace(on=on, wakes=left, upkeep=Upkeep()))

    def _of_cleaner(self, state: State) -> Iterator[Move[State]]:
        in_use = any(state.enqueuers) and self.mutant != "an enqueuer locks its lane"
        lockless = self.mutant == "the cleaner locks the lane"
        match state.cleaner:
            case Cleaner.IDLE if state.on and not state.rows:
                yield _clean(state, "the cleaner sees an empty lane", Cleaner.SAW_EMPTY)
            case Cleaner.SAW_EMPTY if (in_use and not lockless) or not state.on:
                yield _clean(state, "the cleaner skips the lane, it is in use", Cleaner.IDLE)
            case Cleaner.SAW_EMPTY:
                yield _clean(state, "the cleaner locks the lane", Cleaner.LOCKED)
            case Cleaner.LOCKED if state.rows and self.mutant != "the cleaner looks again after the lock":
                yield _clean(state, "the cleaner sees a row and leaves", Cleaner.IDLE)
            case Cleaner.LOCKED:
                yield _clean(state, "the cleaner sees an empty lane again", Cleaner.SAW_EMPTY_AGAIN)
            case Cleaner.SAW_EMPTY_AGAIN:
                yield _clean(state._replace(on=False), "the cleaner switches the lane off", Cleaner.IDLE)
        if state.cleaner:
            yield Move("the cleaner dies", Kind.FAULT, state._replace(cleaner=Cleaner.IDLE))


def _looked_at(state: State) -> bool:
    return state.on or state.wakes > 0


def _clean(state: State, says: str, step: Cleaner) -> Move[State]:
    return Move(says, Kind.WORK, state._replace(cleaner=step))


def _with(state: State, index: int, enqueuer: Enqueuer) -> State:
    changed = sorted((*state.enqueuers[:index], enqueuer, *state.enqueuers[index + 1 :]))
    return state._replace(enqueuers=tuple(changed))
