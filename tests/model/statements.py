"""The statements of ``sql/queue.sql`` as the model sees them: atomic, each with the guards of the real one.

Every function notes in ``Draft.broken`` what it did that no guard should have let through. The names in ``_without``
are the mutants of ``mutants.py``: each takes one guard away.
"""

from typing import Any

from tests.model.records import Hand, Outcome, Phase, Process, Row, State, Task, Worker, canonical

CRASH_LIMIT = 3


class Draft:
    """A state being changed by one move."""

    __slots__ = ("_max_attempts", "_mutant", "_rescue_limit", "broken", "tasks", "workers")

    def __init__(self, state: State, mutant: str | None, rescue_limit: int | None, max_attempts: int) -> None:
        self.tasks = list(state.tasks)
        self.workers = list(state.workers)
        self.broken: str | None = None
        self._mutant = mutant
        self._rescue_limit = rescue_limit
        self._max_attempts = max_attempts

    def without(self, guard: str) -> bool:
        return self._mutant == guard

    def complain(self, promise: str) -> None:
        self.broken = self.broken or promise

    # ---------------------------------------------------------------- small changes

    def task(self, t: int, **changes: Any) -> None:
        self.tasks[t] = self.tasks[t]._replace(**changes)

    def hand(self, w: int, t: int, **changes: Any) -> None:
        worker = self.workers[w]
        hands = worker.hands
        self.workers[w] = worker._replace(hands=(*hands[:t], hands[t]._replace(**changes), *hands[t + 1 :]))

    def worker(self, w: int, **changes: Any) -> None:
        self.workers[w] = self.workers[w]._replace(**changes)

    def _let_go(self, t: int) -> None:
        for w, worker in enumerate(self.workers):
            if worker.hands[t].holds:
                self.hand(w, t, holds=False)

    def _current(self, w: int, t: int, lease: int) -> bool:
        """The truth: this worker holds the row, by this lease."""
        task = self.tasks[t]
        return task.row is Row.LEASED and self.workers[w].hands[t].holds and task.lease == lease

    def _matches(self, w: int, t: int, lease: int, *, unguarded: bool = False) -> bool:
        """The guard of every settle: the row is there, by this lease, in the hands of this worker."""
        task = self.tasks[t]
        passes = task.row is not Row.NONE and (
            unguarded
            or (
                (task.lease == lease or self.without("settle checks the lease"))
                and (self.workers[w].hands[t].holds or self.without("settle checks the worker"))
            )
        )
        if passes and not self._current(w, t, lease):
            self.complain("a settle was accepted although its lease is not the current one")
        return passes

    # ---------------------------------------------------------------- the statements

    def claim(self, w: int, t: int) -> int:
        """Takes a waiting row; returns the number of the new lease."""
        task = self.tasks[t]
        number = task.newest + 1
        if self.without("a claim draws a new number") and task.lease:
            number = task.lease
        if self.without("the number goes on after a reprocess"):
            number = task.lease + 1
        if task.row is Row.LEASED:
            self.complain("a task was claimed although somebody holds it")
        if number <= task.newest:
            self.complain(f"a lease number did not grow: {number} after {task.newest}")
        if task.cancel:
            self.complain("a task that was asked to stop is started again")
        self._let_go(t)
        self.task(t, row=Row.LEASED, lease=number, newest=max(number, task.newest))
        self.hand(w, t, holds=True)
        return number

    def finish(self, w: int, t: int, lease: int, status: Outcome) -> bool:
        if not self._matches(w, t, lease):
            return False
        self._end(t, lease, status)
        return True

    def settled_before(self, t: int, lease: int) -> bool:
        """For a finish that matched nothing: was it this lease that ended the task?"""
        task = self.tasks[t]
        ours = task.outcome is not Outcome.NONE and (
            task.outcome_lease == lease or self.without("settled before checks the lease")
        )
        if ours and task.outcome_lease != lease:
            self.complain("a worker was told that its settle counted, and it was another's")
        return ours

    def advance(self, w: int, t: int, lease: int) -> bool:
        if not self._matches(w, t, lease):
            return False
        if self.tasks[t].cancel:
            self._end(t, lease, Outcome.CANCELLED)
            return True
        self._let_go(t)
        stage = self.tasks[t].stage + 1
        self.task(t, row=Row.WAITING, stage=stage, attempt=0, crashes=0, rescues=0, died=0, noted=0)
        return True

    def release(
        self, w: int, t: int, lease: int, *, burned: bool = False, crashed: bool = False, rescued: bool = False
    ) -> bool:
        """Retry, hand back, crash and rescue; may end the task instead of letting it wait again."""
        unguarded = (crashed or rescued) and self.without("a rescue checks the lease it read")
        if not self._matches(w, t, lease, unguarded=unguarded):
            return False
        task = self.tasks[t]
        task = task._replace(
            attempt=task.attempt + burned,
            noted=task.noted + (burned and not self.without("a burned attempt is noted")),
            crashes=task.crashes + (crashed and not self.without("a crash is counted")),
            rescues=task.rescues + (rescued and self._rescue_limit is not None),
            died=task.died + crashed,
        )
        self.tasks[t] = task
        ending = self._ending(task, crashed, rescued)
        if crashed:
            self._judge_crash(task, ending)
        if ending is not None:
            self._end(t, lease, ending)
        else:
            self._let_go(t)
            self.task(t, row=Row.WAITING)
        return True

    def _ending(self, task: Task, crashed: bool, rescued: bool) -> Outcome | None:
        if task.cancel and not self.without("a release sees that the task was cancelled"):
            return Outcome.CANCELLED
        limit = CRASH_LIMIT - self.without("three crashes, not two")
        if crashed and (task.crashes >= limit or task.attempt >= self._max_attempts):
            return Outcome.ERROR
        often = self._rescue_limit is not None and task.rescues >= self._rescue_limit
        return Outcome.ERROR if rescued and often else None

    def _judge_crash(self, task: Task, ending: Outcome | None) -> None:
        due = task.died >= CRASH_LIMIT or task.attempt >= self._max_attempts
        if ending is None and due:
            self.complain(f"a task crashed {task.died} times and is not a dead letter")
        if ending is Outcome.ERROR and not due:
            self.complain(f"a task is a dead letter after {task.died} crashes")

    def cancel(self, t: int) -> None:
        task = self.tasks[t]
        if task.row is Row.WAITING or self.without("a cancel waits for the running handler"):
            self._end(t, task.lease, Outcome.CANCELLED)
        else:
            self.task(t, cancel=True)

    def reprocess(self, t: int) -> None:
        task = self.tasks[t]
        restart = self.without("the number goes on after a reprocess")
        self.tasks[t] = Task(
            lease=0 if restart else task.lease,
            newest=task.newest,
            run=task.run + 1,
            unfinished=task.unfinished + 1,
            outcome=task.outcome if self.without("a reprocess takes the outcome away") else Outcome.NONE,
        )

    def _end(self, t: int, lease: int, status: Outcome) -> None:
        task = self.tasks[t]
        if task.outcome is not Outcome.NONE:
            self.complain("a run of a task has two outcomes")
        counted = 0 if self.without("an ending is counted") else 1
        self._let_go(t)
        self.tasks[t] = Task(
            row=Row.NONE,
            lease=task.lease,
            newest=task.newest,
            run=task.run,
            unfinished=task.unfinished - counted,
            outcome=status,
            outcome_lease=lease,
        )

    def done(self) -> State:
        """Canonical. A process that is lost keeps only what a rescue can still ask about."""
        for w, worker in enumerate(self.workers):
            if worker.process is Process.LOST and any(hand.phase for hand in worker.hands):
                self.workers[w] = _tidied(worker)
        return canonical(self.tasks, self.workers)


def _tidied(worker: Worker) -> Worker:
    return worker._replace(hands=tuple(_tidied_hand(hand) for hand in worker.hands))


def _tidied_hand(hand: Hand) -> Hand:
    return hand if hand.holds else hand._replace(phase=Phase.NOTHING, lease=0)
