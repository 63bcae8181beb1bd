"""Workers and tasks: every order of claim, run, settle, freeze, death, rescue, cancel and reprocess.

A worker's belief (``Hand.phase``) and the row (``Hand.holds``) are separate, so a zombie is just a worker whose
belief is out of date. What is on its way to the database is a move of its own, so it may arrive at any time, or
never. Time is not in the model: a lease may end whenever it likes, which covers every clock.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.model.records import Hand, Order, Outcome, Phase, Process, Row, State, Task, Worker, forgotten
from tests.model.search import Kind, Move
from tests.model.statements import Draft

_ENDED = (Process.GONE, Process.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """``mutant``: the guard that is missing. The other fields bound the search."""

    workers: int
    tasks: int = 1
    stages: int = 1
    runs: int = 1
    rescue_limit: int | None = None
    max_attempts: int = 3
    retries: bool = True
    cancels: bool = True
    lost_answers: bool = True
    crashes: bool = True
    mutant: str | None = None

    def first(self) -> State:
        return State((Task(),) * self.tasks, (forgotten(self.tasks),) * self.workers)

    def ended(self, state: State) -> bool:
        return all(task.row is Row.NONE for task in state.tasks)

    def broken(self, state: State) -> str | None:
        for t, task in enumerate(state.tasks):
            hands = [worker.hands[t] for worker in state.workers]
            if (task.row is Row.NONE) != (task.outcome is not Outcome.NONE):
                return "a task has both a queue row and an outcome, or neither"
            if sum(hand.holds for hand in hands) != (task.row is Row.LEASED):
                return "a row is not held by exactly the worker it names"
            if task.unfinished != (task.row is not Row.NONE):
                return "the counts do not sum to the total"
            if task.attempt != task.noted:
                return "a burned attempt has no recorded cause"
            for worker, hand in zip(state.workers, hands, strict=True):
                if worker.listed and hand.phase and not (hand.holds and hand.lease == task.lease):
                    return "a worker that counts as alive works on a task whose lease it lost"
        return None

    def moves(self, state: State) -> Iterable[Move[State]]:
        for w, worker in enumerate(state.workers):
            if w and worker == state.workers[w - 1]:
                continue  # an equal worker makes equal moves
            yield from self._of_process(state, w, worker)
            yield from self._of_table(state, w, worker)
            for t in range(self.tasks):
                yield from self._of_task(state, w, t)
        for t in range(self.tasks):
            yield from self._of_people(state, t)

    def _draft(self, state: State) -> Draft:
        return Draft(state, self.mutant, self.rescue_limit, self.max_attempts)

    # ---------------------------------------------------------------- processes: start, freeze, die

    def _of_process(self, state: State, w: int, worker: Worker) -> Iterator[Move[State]]:
        name = f"worker {w}"
        match worker.process:
            case Process.UP:
                if self._may_freeze(state):
                    yield self._set(state, w, f"{name} is frozen", Kind.FAULT, process=Process.FROZEN)
                if not worker.listed:
                    yield self._refused(state, w)
            case Process.FROZEN:
                yield self._set(state, w, f"{name} goes on", Kind.FAULT, process=Process.UP)
            case Process.LOST if worker == forgotten(self.tasks):
                yield self._set(
                    state, w, f"a new process registers as {name}", Kind.WORK, process=Process.UP, listed=True
                )
        if worker.process not in _ENDED:
            if self.crashes:
                yield self._dies(state, w, f"the process of {name} is killed", Process.GONE)
            yield self._dies(state, w, f"{name} is lost with its machine", Process.LOST)

    def _may_freeze(self, state: State) -> bool:
        """One id stays free of it, or the bound on ids, not the engine, would bring all work to a stop."""
        return sum(worker.process is Process.FROZEN for worker in state.workers) < self.workers - 1

    def _set(self, state: State, w: int, says: str, kind: Kind, **changes: Any) -> Move[State]:
        draft = self._draft(state)
        draft.worker(w, **changes)
        return Move(says, kind, draft.done(), draft.broken)

    def _dies(self, state: State, w: int, says: str, process: Process) -> Move[State]:
        """What it had sent dies with it. What it was doing stays readable in its slots."""
        hands = tuple(hand._replace(sent=Order.NONE, sent_lease=0) for hand in state.workers[w].hands)
        return self._set(state, w, says, Kind.FAULT, process=process, hands=hands)

    def _refused(self, state: State, w: int) -> Move[State]:
        """Its heartbeat is not in the answer: it drops everything and leaves."""
        draft = self._draft(state)
        if draft.without("a dead worker's heartbeat is refused"):
            return self._set(state, w, f"worker {w} renews its lease", Kind.WORK, listed=True)
        for t in range(self.tasks):
            draft.hand(w, t, phase=Phase.NOTHING, lease=0, sent=Order.NONE, sent_lease=0)
        draft.worker(w, process=Process.LOST)
        return Move(f"worker {w} hears that it is dead and leaves", Kind.WORK, draft.done(), draft.broken)

    # ---------------------------------------------------------------- the workers' table: dead, and by whom

    def _of_table(self, state: State, w: int, worker: Worker) -> Iterator[Move[State]]:
        if worker.listed:
            kind = Kind.FAULT if worker.process is Process.UP else Kind.WORK
            draft = self._draft(state)
            draft.worker(w, listed=False)
            if draft.without("a rescue looks at every dead holder"):
                self._order_all(draft, w)
            yield Move(f"the lease of worker {w} ends and it is declared dead", kind, draft.done(), draft.broken)
        if worker.process is Process.GONE:
            draft = self._draft(state)
            draft.worker(w, listed=False, process=Process.LOST)
            self._order_all(draft, w)
            for t in range(self.tasks):
                draft.hand(w, t, phase=Phase.NOTHING, lease=0)
            says = f"the supervisor declares worker {w} dead and reads its slots"
            yield Move(says, Kind.WORK, draft.done(), draft.broken)

    def _order_all(self, draft: Draft, w: int) -> None:
        """The slots say which handlers had started: those crashed, the others only waited."""
        for t, hand in enumerate(draft.workers[w].hands):
            if hand.phase is Phase.NOTHING or hand.order:
                continue
            order = Order.CRASH if hand.phase is Phase.RUNNING else Order.HAND_BACK
            if draft.without("a task in the inbox burns nothing"):
                order = Order.CRASH
            if order is Order.CRASH and hand.phase is not Phase.RUNNING:
                draft.complain("an attempt is burned for a task that never started")
            draft.hand(w, t, order=order, order_lease=hand.lease)

    # ---------------------------------------------------------------- one worker and one task

    def _of_task(self, state: State, w: int, t: int) -> Iterator[Move[State]]:
        worker = state.workers[w]
        hand = worker.hands[t]
        if worker.process is Process.UP:
            yield from self._claims(state, w, t, hand)
            yield from self._handles(state, w, t, hand)
            if hand.sent:
                yield self._deliver(state, w, t, hand.sent, hand.sent_lease, again=True)
        blind = self._draft(state).without("a worker is declared dead before its rows are taken")
        if (not worker.listed or blind) and hand.holds and not hand.order:
            yield from self._rescuer_reads(state, w, t)
        if hand.order:
            yield self._deliver(state, w, t, hand.order, hand.order_lease, again=False)
            draft = self._draft(state)
            draft.hand(w, t, order=Order.NONE, order_lease=0)
            yield Move(f"the rescuer of task {t} dies before it writes", Kind.FAULT, draft.done(), draft.broken)

    def _claims(self, state: State, w: int, t: int, hand: Hand) -> Iterator[Move[State]]:
        draft = self._draft(state)
        row = state.tasks[t].row
        claimable = row is Row.WAITING or (row is Row.LEASED and draft.without("a claim takes waiting rows only"))
        if claimable and hand.phase is Phase.NOTHING:
            number = draft.claim(w, t)
            if self.lost_answers:
                says = f"worker {w} claims task {t}, the answer is lost"
                yield Move(says, Kind.FAULT, draft.done(), draft.broken)
                draft = self._draft(state)
                number = draft.claim(w, t)
            draft.hand(w, t, phase=Phase.INBOX, lease=number)
            yield Move(f"worker {w} claims task {t}", Kind.WORK, draft.done(), draft.broken)
        unknown = hand.holds and hand.phase is Phase.NOTHING
        if unknown and not draft.without("a lost claim is given back"):
            draft = self._draft(state)
            draft.release(w, t, state.tasks[t].lease)
            yield Move(f"worker {w} gives back task {t}, which it never got", Kind.WORK, draft.done(), draft.broken)

    def _handles(self, state: State, w: int, t: int, hand: Hand) -> Iterator[Move[State]]:
        if hand.phase is Phase.INBOX:
            draft = self._draft(state)
            draft.hand(w, t, phase=Phase.RUNNING)
            yield Move(f"worker {w} starts task {t}", Kind.WORK, draft.done(), draft.broken)
            yield from self._settles(state, w, t, Order.HAND_BACK, Kind.FAULT)
        if hand.phase is Phase.RUNNING:
            last = state.tasks[t].stage + 1 >= self.stages
            yield from self._settles(state, w, t, Order.FINISH if last else Order.ADVANCE, Kind.WORK)
            if self.retries:
                yield from self._settles(state, w, t, Order.RETRY, Kind.FAULT)

    def _settles(self, state: State, w: int, t: int, order: Order, kind: Kind) -> Iterator[Move[State]]:
        """The worker lets go once it has sent; if the answer is lost, it sends the same again later."""
        lease = state.workers[w].hands[t].lease
        says = f"worker {w} settles task {t} ({_named(order)}) by lease {lease}"
        for lost in (False, True) if self.lost_answers else (False,):
            draft = self._draft(state)
            accepted = self._apply(draft, w, t, order, lease)
            if lost and not accepted:
                return
            draft.hand(w, t, phase=Phase.NOTHING, lease=0)
            if lost:
                draft.hand(w, t, sent=order, sent_lease=lease)
            told = says + ("" if accepted else ", too late") + (", the answer is lost" if lost else "")
            yield Move(told, Kind.FAULT if lost else kind, draft.done(), draft.broken)

    def _rescuer_reads(self, state: State, w: int, t: int) -> Iterator[Move[State]]:
        """Nobody saw the worker die, so it burns nothing, whether the task ran or not."""
        if self.mutant == "a rescue looks at every dead holder":
            return
        draft = self._draft(state)
        draft.hand(w, t, order=Order.RESCUE, order_lease=state.tasks[t].lease)
        says = f"a rescuer reads that worker {w} has task {t} ({_named(Order.RESCUE)})"
        yield Move(says, Kind.WORK, draft.done(), draft.broken)

    def _deliver(self, state: State, w: int, t: int, order: Order, lease: int, *, again: bool) -> Move[State]:
        draft = self._draft(state)
        accepted = self._apply(draft, w, t, order, lease)
        if again:
            draft.hand(w, t, sent=Order.NONE, sent_lease=0)
        else:
            draft.hand(w, t, order=Order.NONE, order_lease=0)
        who = f"worker {w} sends again" if again else f"the rescuer writes for worker {w}"
        says = f"{who}: task {t} ({_named(order)}), lease {lease}, {'accepted' if accepted else 'not current'}"
        return Move(says, Kind.WORK, draft.done(), draft.broken)

    def _apply(self, draft: Draft, w: int, t: int, order: Order, lease: int) -> bool:
        match order:
            case Order.FINISH:
                accepted = draft.finish(w, t, lease, Outcome.DONE)
                if not accepted:
                    draft.settled_before(t, lease)
                return accepted
            case Order.ADVANCE:
                return draft.advance(w, t, lease)
            case Order.RETRY if draft.tasks[t].attempt + 1 >= self.max_attempts:
                return draft.finish(w, t, lease, Outcome.ERROR)
            case Order.RETRY:
                return draft.release(w, t, lease, burned=True)
            case Order.CRASH:
                return draft.release(w, t, lease, burned=True, crashed=True)
            case Order.RESCUE:
                return draft.release(w, t, lease, rescued=True)
            case _:
                return draft.release(w, t, lease)

    # ---------------------------------------------------------------- people

    def _of_people(self, state: State, t: int) -> Iterator[Move[State]]:
        task = state.tasks[t]
        if self.cancels and task.row is not Row.NONE and not task.cancel:
            draft = self._draft(state)
            draft.cancel(t)
            yield Move(f"somebody cancels task {t}", Kind.PERSON, draft.done(), draft.broken)
        if task.row is Row.NONE and task.run < self.runs:
            draft = self._draft(state)
            draft.reprocess(t)
            yield Move(f"somebody has task {t} reprocessed", Kind.PERSON, draft.done(), draft.broken)


def _named(order: Order) -> str:
    return order.name.lower().replace("_", " ")
