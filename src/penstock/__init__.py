"""Penstock: durable background processing for Python on PostgreSQL.

Persist first, then process. See ``README.md`` for the ten-line start.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.brokers.contracts import EngineDispatcher, JobDispatcher, JobEnvelope, JobHandler
    from penstock.core.context import Context
    from penstock.core.enqueue import EnqueueOptions
    from penstock.core.handles import Task
    from penstock.core.job_counts import JobCounts
    from penstock.core.jobs import Job
    from penstock.core.retry import RetryPolicy
    from penstock.errors import (
        IllegalMove,
        PenstockError,
        PermanentError,
        StaleLease,
        TaskFailed,
        ThrottledError,
        TransientError,
        UnreadableResult,
        WaitTimeout,
    )
    from penstock.extension import Extension
    from penstock.lifecycle import JobState, State
    from penstock.model import Cancel, Done, NotFound, Priority, Skip, Snooze
    from penstock.workers.inprocess import worker

__all__ = [
    "Cancel",
    "Context",
    "Done",
    "EngineDispatcher",
    "EnqueueOptions",
    "Extension",
    "IllegalMove",
    "Job",
    "JobCounts",
    "JobDispatcher",
    "JobEnvelope",
    "JobHandler",
    "JobState",
    "NotFound",
    "Penstock",
    "PenstockError",
    "PermanentError",
    "Priority",
    "RetryPolicy",
    "Skip",
    "Snooze",
    "StaleLease",
    "State",
    "Task",
    "TaskFailed",
    "ThrottledError",
    "TransientError",
    "UnreadableResult",
    "WaitTimeout",
    "worker",
]

# The public names are imported when they are first used: `penstock --help` needs none of them.
_NAMES = {
    "penstock.application": "Penstock",
    "penstock.brokers.contracts": "EngineDispatcher JobDispatcher JobEnvelope JobHandler",
    "penstock.core.context": "Context",
    "penstock.core.enqueue": "EnqueueOptions",
    "penstock.core.handles": "Task",
    "penstock.core.job_counts": "JobCounts",
    "penstock.core.jobs": "Job",
    "penstock.core.retry": "RetryPolicy",
    "penstock.errors": "IllegalMove PenstockError PermanentError StaleLease "
    "TaskFailed ThrottledError TransientError UnreadableResult WaitTimeout",
    "penstock.extension": "Extension",
    "penstock.lifecycle": "JobState State",
    "penstock.model": "Cancel Done NotFound Priority Skip Snooze",
    "penstock.workers.inprocess": "worker",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
