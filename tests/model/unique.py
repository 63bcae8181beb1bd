"""One waiting task per unique key.

While a task with the key waits, an enqueue with the same key is answered with that task. The promise is that the
task starts after the enqueuer's commit, so that it sees what the enqueuer wrote; the enqueuer therefore holds the
row until then. A leased task may have a younger twin that waits; when it is released it ends instead of waiting
beside it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tests.model.search import Kind, Move


class Task(IntEnum):
    """ORPHAN: leased by a worker that is gone. RELEASING: its worker saw no twin and is about to write."""

    NEW = 0
    WAITING = 1
    LEASED = 2
    RELEASING = 3
    ORPHAN = 4
    ENDED = 5


class Step(IntEnum):
    IDLE = 0
    SAW_NONE = 1  # no task with the key waits: about to insert
    INSERTED = 2  # not committed
    COALESCED = 3  # will answer with a task that waits


class Enqueuer(NamedTuple):
    step: Step = Step.IDLE
    task: int = -1
    locked: bool = False


class State(NamedTuple):
    tasks: tuple[Task, ...]
    enqueuers: tuple[Enqueuer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    tasks: int = 3
    enqueuers: int = 2
    mutant: str | None = None

    def first(self) -> State:
        return State((Task.NEW,) * self.tasks, (Enqueuer(),) * self.enqueuers)

    def ended(self, state: State) -> bool:
        idle = not any(one.step for one in state.enqueuers)
        return idle and all(task in (Task.NEW, Task.ENDED) for task in state.tasks)

    def broken(self, state: State) -> str | None:
        return "two tasks with one key wait" if state.tasks.count(Task.WAITING) > 1 else None

    def moves(self, state: State) -> Iterable[Move[State]]:
        for index, one in enumerate(state.enqueuers):
            yield from self._of_enqueuer(state, index, one)
        for index, task in enumerate(state.tasks):
            yield from self._of_worker(state, index, task)
        if Task.LEASED in state.tasks or Task.RELEASING in state.tasks:
            held = (Task.LEASED, Task.RELEASING)
            after = tuple(Task.ORPHAN if task in held else task for task in state.tasks)
            yield Move("the worker dies with all it holds", Kind.FAULT, state._replace(tasks=after))
        if Task.ORPHAN in state.tasks:
            yield from self._rescue(state)

    # ---------------------------------------------------------------- the index: what a writer meets

    def _waits(self, state: State) -> bool:
        """An uncommitted insert with the same key makes a second writer wait for its end."""
        return self._indexed() and any(one.step is Step.INSERTED for one in state.enqueuers)

    def _taken(self, state: State) -> bool:
        return self._indexed() and Task.WAITING in state.tasks

    def _indexed(self) -> bool:
        return self.mutant != "a unique index covers waiting rows"

    # ---------------------------------------------------------------- enqueuers

    def _of_enqueuer(self, state: State, index: int, one: Enqueuer) -> Iterator[Move[State]]:
        name = f"enqueuer {index}"
        match one.step:
            case Step.IDLE if Task.WAITING in state.tasks:
                task = state.tasks.index(Task.WAITING)
                locked = self.mutant != "an enqueuer holds the task it is answered with"
                after = _enqueuer(state, index, Enqueuer(Step.COALESCED, task, locked))
                yield Move(f"{name} is answered with task {task}", Kind.PERSON, after)
            case Step.IDLE if Task.NEW in state.tasks:
                after = _enqueuer(state, index, Enqueuer(Step.SAW_NONE))
                yield Move(f"{name} sees no task with its key", Kind.PERSON, after)
            case Step.SAW_NONE if self._taken(state) or Task.NEW not in state.tasks:
                after = _enqueuer(state, index, Enqueuer())
                yield Move(f"{name} meets the key and looks again", Kind.WORK, after)
            case Step.SAW_NONE if not self._waits(state):
                task = state.tasks.index(Task.NEW)
                if any(other.task == task and other.step is Step.INSERTED for other in state.enqueuers):
                    task += 1
                if task < len(state.tasks) and state.tasks[task] is Task.NEW:
                    after = _enqueuer(state, index, Enqueuer(Step.INSERTED, task))
                    yield Move(f"{name} inserts task {task}", Kind.WORK, after)
                else:
                    yield Move(f"{name} gives up", Kind.WORK, _enqueuer(state, index, Enqueuer()))
            case Step.INSERTED:
                after = _task(_enqueuer(state, index, Enqueuer()), one.task, Task.WAITING)
                yield Move(f"{name} commits task {one.task}", Kind.WORK, after)
            case Step.COALESCED:
                kept = state.tasks[one.task] is Task.WAITING
                broken = None if kept else "a task started before the enqueuer it was promised to had committed"
                yield Move(f"{name} commits", Kind.WORK, _enqueuer(state, index, Enqueuer()), broken)
        if one.step:
            yield Move(f"{name} dies", Kind.FAULT, _enqueuer(state, index, Enqueuer()))

    # ---------------------------------------------------------------- workers

    def _of_worker(self, state: State, index: int, task: Task) -> Iterator[Move[State]]:
        name = f"task {index}"
        match task:
            case Task.WAITING:
                if not any(one.locked and one.task == index for one in state.enqueuers):
                    yield Move(f"{name} is claimed", Kind.WORK, _task(state, index, Task.LEASED))
            case Task.LEASED:
                yield Move(f"{name} is finished", Kind.WORK, _task(state, index, Task.ENDED))
                if Task.WAITING in state.tasks:
                    says = f"{name} is released and ends, a twin waits"
                    yield Move(says, Kind.FAULT, _task(state, index, Task.ENDED))
                else:
                    yield Move(f"{name} is being released", Kind.FAULT, _task(state, index, Task.RELEASING))
            case Task.RELEASING if self._taken(state):
                yield Move(f"{name} meets its key and looks again", Kind.WORK, _task(state, index, Task.LEASED))
            case Task.RELEASING if not self._waits(state):
                yield Move(f"{name} waits again", Kind.WORK, _task(state, index, Task.WAITING))

    def _rescue(self, state: State) -> Iterator[Move[State]]:
        """All rows of a dead worker in one statement: of those with one key, only the youngest may wait."""
        orphans = [index for index, task in enumerate(state.tasks) if task is Task.ORPHAN]
        if self._waits(state):
            return
        blind = self.mutant == "a release tells twins in one batch apart"
        if blind and len(orphans) > 1 and Task.WAITING not in state.tasks:
            yield Move("the rescue fails on the key", Kind.WORK, state)
            return
        after = state
        for index in orphans:
            waits = index == orphans[-1] and Task.WAITING not in state.tasks
            after = _task(after, index, Task.WAITING if waits else Task.ENDED)
        yield Move("the rescue gives everything back", Kind.WORK, after)


def _task(state: State, index: int, task: Task) -> State:
    return state._replace(tasks=(*state.tasks[:index], task, *state.tasks[index + 1 :]))


def _enqueuer(state: State, index: int, enqueuer: Enqueuer) -> State:
    changed = (*state.enqueuers[:index], enqueuer, *state.enqueuers[index + 1 :])
    return state._replace(enqueuers=changed)
