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
_HOME = {
    "Cancel": "penstock.model",
    "Context": "penstock.core.context",
    "Done": "penstock.model",
    "EngineDispatcher": "penstock.brokers.contracts",
    "EnqueueOptions": "penstock.core.enqueue",
    "Extension": "penstock.extension",
    "IllegalMove": "penstock.errors",
    "Job": "penstock.core.jobs",
    "JobCounts": "penstock.core.job_counts",
    "JobDispatcher": "penstock.brokers.contracts",
    "JobEnvelope": "penstock.brokers.contracts",
    "JobHandler": "penstock.brokers.contracts",
    "JobState": "penstock.lifecycle",
    "NotFound": "penstock.model",
    "Penstock": "penstock.application",
    "PenstockError": "penstock.errors",
    "PermanentError": "penstock.errors",
    "Priority": "penstock.model",
    "RetryPolicy": "penstock.core.retry",
    "Skip": "penstock.model",
    "Snooze": "penstock.model",
    "StaleLease": "penstock.errors",
    "State": "penstock.lifecycle",
    "Task": "penstock.core.handles",
    "TaskFailed": "penstock.errors",
    "ThrottledError": "penstock.errors",
    "TransientError": "penstock.errors",
    "UnreadableResult": "penstock.errors",
    "WaitTimeout": "penstock.errors",
    "worker": "penstock.workers.inprocess",
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
