"""Penstock: durable background processing for Python on PostgreSQL.

Persist first, then process. See ``README.md`` for the ten-line start.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.contracts import JobDispatcher, JobEnvelope, JobHandler
    from penstock.engine.app import Penstock
    from penstock.engine.context import Context
    from penstock.engine.enqueue import EnqueueOptions
    from penstock.engine.handles import Task
    from penstock.engine.handling import EngineDispatcher
    from penstock.engine.job_counts import JobCounts
    from penstock.engine.jobs import Job
    from penstock.engine.retry import RetryPolicy
    from penstock.engine.worker.inprocess import worker
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
    from penstock.lifecycle import JobState, State
    from penstock.model import Cancel, Done, NotFound, Priority, Skip, Snooze

__all__ = [
    "Cancel",
    "Context",
    "Done",
    "EngineDispatcher",
    "EnqueueOptions",
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
_HOME = {
    "Cancel": "penstock.model",
    "Context": "penstock.engine.context",
    "Done": "penstock.model",
    "EngineDispatcher": "penstock.engine.handling",
    "EnqueueOptions": "penstock.engine.enqueue",
    "IllegalMove": "penstock.errors",
    "Job": "penstock.engine.jobs",
    "JobCounts": "penstock.engine.job_counts",
    "JobDispatcher": "penstock.contracts",
    "JobEnvelope": "penstock.contracts",
    "JobHandler": "penstock.contracts",
    "JobState": "penstock.lifecycle",
    "NotFound": "penstock.model",
    "Penstock": "penstock.engine.app",
    "PenstockError": "penstock.errors",
    "PermanentError": "penstock.errors",
    "Priority": "penstock.model",
    "RetryPolicy": "penstock.engine.retry",
    "Skip": "penstock.model",
    "Snooze": "penstock.model",
    "StaleLease": "penstock.errors",
    "State": "penstock.lifecycle",
    "Task": "penstock.engine.handles",
    "TaskFailed": "penstock.errors",
    "ThrottledError": "penstock.errors",
    "TransientError": "penstock.errors",
    "UnreadableResult": "penstock.errors",
    "WaitTimeout": "penstock.errors",
    "worker": "penstock.engine.worker.inprocess",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
