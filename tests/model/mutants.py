"""Every guard of the models, and the smallest model that shows what happens without it.

A mutant is named by the guard that is taken away. The search has to find each; a guard whose absence nothing shows
is either not needed or not argued.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from tests.model.lanes import Lanes
from tests.model.lease import Lease
from tests.model.limits import Limits
from tests.model.search import Model
from tests.model.unique import Unique

# What is searched completely, and how large it is: these have to be clean.
WHOLE: dict[str, Any] = {
    "one worker with everything": Lease(workers=1, stages=2, runs=2, rescue_limit=2),
    "two workers that die, freeze and lose answers": Lease(workers=2, retries=False),
    "two workers and a task that is reprocessed": Lease(workers=2, runs=2, retries=False, crashes=False, cancels=False),
    "two workers, two stages": Lease(workers=2, stages=2, retries=False, crashes=False, cancels=False),
    "one worker that crashes often": Lease(workers=1, max_attempts=5),
    "three workers that die and freeze": Lease(workers=3, lost_answers=False, retries=False, crashes=False),
    "two workers, two tasks": Lease(
        workers=2, tasks=2, lost_answers=False, retries=False, cancels=False, crashes=False
    ),
    "three claimers under a limit of one": Limits(limit=1),
    "four claimers under a limit of two": Limits(claimers=4, limit=2, tasks=5),
    "three enqueuers and a cleaner": Lanes(),
    "three tasks with one key": Unique(),
}

_TWO = Lease(workers=2)
_ONE = Lease(workers=1)
_CRASHING = Lease(workers=1, max_attempts=5, lost_answers=False, cancels=False)
_QUIET = Lease(workers=2, lost_answers=False, retries=False, cancels=False, crashes=False)

_MODELS: dict[str, Any] = {
    "settle checks the lease": _ONE,
    "settle checks the worker": _ONE,
    "settled before checks the lease": _TWO,
    "a claim takes waiting rows only": _TWO,
    "a claim draws a new number": _ONE,
    "a lost claim is given back": _ONE,
    "the number goes on after a reprocess": Lease(workers=1, runs=2),
    "a reprocess takes the outcome away": Lease(workers=1, runs=2),
    "a worker is declared dead before its rows are taken": _TWO,
    "a dead worker's heartbeat is refused": _TWO,
    "a rescue looks at every dead holder": _QUIET,
    "a rescue checks the lease it read": _TWO,
    "a task in the inbox burns nothing": _ONE,
    "a burned attempt is noted": _ONE,
    "a crash is counted": _CRASHING,
    "three crashes, not two": _CRASHING,
    "a cancel waits for the running handler": _ONE,
    "a release sees that the task was cancelled": _ONE,
    "an ending is counted": _ONE,
    "claimers take turns": Limits(limit=1),
    "the count is newer than the lock": Limits(limit=1),
    "the lock is kept until the commit": Limits(limit=1),
    "the cleaner looks again after the lock": Lanes(),
    "the cleaner locks the lane": Lanes(),
    "an enqueuer locks its lane": Lanes(),
    "an enqueue wakes its lane": Lanes(),
    "a wake switches its lane on": Lanes(),
    "upkeep takes only the wakes it saw": Lanes(),
    "a unique index covers waiting rows": Unique(),
    "an enqueuer holds the task it is answered with": Unique(),
    "a release tells twins in one batch apart": Unique(),
}


def names() -> tuple[str, ...]:
    return tuple(_MODELS)


def without(guard: str) -> Model[Hashable]:
    """The model that shows it, with this guard missing."""
    mutant: Model[Hashable] = replace(_MODELS[guard], mutant=guard)
    return mutant
