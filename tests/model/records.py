"""The state of the lease model.

Lease numbers and worker ids grow without end in the real tables. What matters of them is which are equal and which
is newer, so a state keeps ranks instead of numbers and the workers in sorted order. That makes the reachable states
finite although faults never stop.
"""

from enum import IntEnum
from typing import NamedTuple


class Row(IntEnum):
    """What the queue table holds of a task."""

    NONE = 0
    WAITING = 1
    LEASED = 2


class Outcome(IntEnum):
    NONE = 0
    DONE = 2
    ERROR = 3
    CANCELLED = 6


class Process(IntEnum):
    """GONE: its supervisor saw it die. LOST: nobody is left to tell."""

    UP = 0
    FROZEN = 1
    GONE = 2
    LOST = 3


class Phase(IntEnum):
    """What a process does with a task, as it believes."""

    NOTHING = 0
    INBOX = 1
    RUNNING = 2


class Order(IntEnum):
    """A statement on its way to the database, written for one lease."""

    NONE = 0
    FINISH = 1
    RETRY = 2
    HAND_BACK = 3
    CRASH = 4
    RESCUE = 5
    ADVANCE = 6


class Task(NamedTuple):
    """Columns of the tables; from ``died`` on, what really happened, for comparison."""

    row: Row = Row.WAITING
    lease: int = 0
    attempt: int = 0
    crashes: int = 0
    rescues: int = 0
    stage: int = 0
    run: int = 1
    cancel: bool = False
    outcome: Outcome = Outcome.NONE
    outcome_lease: int = 0
    unfinished: int = 1  # by the counters: arrivals less endings
    died: int = 0  # processes that died under it in this stage and run
    noted: int = 0  # burned attempts that have a row with their cause
    newest: int = 0  # highest lease number ever given


class Hand(NamedTuple):
    """One worker and one task: what the worker does, what is on its way, and whether the row names the worker."""

    phase: Phase = Phase.NOTHING
    lease: int = 0
    sent: Order = Order.NONE
    sent_lease: int = 0
    order: Order = Order.NONE
    order_lease: int = 0
    holds: bool = False


class Worker(NamedTuple):
    """One id. ``listed``: the table says it lives. A forgotten id is as good as a fresh one."""

    process: Process
    listed: bool
    hands: tuple[Hand, ...]


class State(NamedTuple):
    tasks: tuple[Task, ...]
    workers: tuple[Worker, ...]


def forgotten(tasks: int) -> Worker:
    """An id nobody uses: no process, no row, nothing on its way."""
    return Worker(Process.LOST, False, (Hand(),) * tasks)


def canonical(tasks: list[Task], workers: list[Worker]) -> State:
    """Ranks for lease numbers, task by task, and the workers sorted: their names do not matter."""
    for index, task in enumerate(tasks):
        hands = [worker.hands[index] for worker in workers]
        numbers = {0, task.lease, task.newest, task.outcome_lease}
        for hand in hands:
            numbers.update((hand.lease, hand.sent_lease, hand.order_lease))
        if max(numbers) >= len(numbers):
            rank = {number: place for place, number in enumerate(sorted(numbers))}
            tasks[index] = task._replace(
                lease=rank[task.lease], newest=rank[task.newest], outcome_lease=rank[task.outcome_lease]
            )
            for place, worker in enumerate(workers):
                workers[place] = worker._replace(hands=_ranked(worker.hands, index, rank))
    return State(tuple(tasks), tuple(sorted(workers)))


def _ranked(hands: tuple[Hand, ...], index: int, rank: dict[int, int]) -> tuple[Hand, ...]:
    hand = hands[index]
    if not (hand.lease or hand.sent_lease or hand.order_lease):
        return hands
    ranked = hand._replace(lease=rank[hand.lease], sent_lease=rank[hand.sent_lease], order_lease=rank[hand.order_lease])
    return (*hands[:index], ranked, *hands[index + 1 :])
