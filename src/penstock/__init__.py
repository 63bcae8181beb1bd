"""Penstock: durable background processing for Python on PostgreSQL.

Persist first, then process. See ``README.md`` for the ten-line start.
"""

from penstock.engine.app import Penstock
from penstock.engine.context import Context
from penstock.engine.enqueue import EnqueueOptions
from penstock.engine.handles import Job, JobCounts, Task
from penstock.engine.retry import RetryPolicy
from penstock.errors import PenstockError, PermanentError, TaskFailed, ThrottledError, TransientError
from penstock.lifecycle import JobState, State
from penstock.model import Cancel, Done, NotFound, Priority, Skip, Snooze

__all__ = [
    "Cancel",
    "Context",
    "Done",
    "EnqueueOptions",
    "Job",
    "JobCounts",
    "JobState",
    "NotFound",
    "Penstock",
    "PenstockError",
    "PermanentError",
    "Priority",
    "RetryPolicy",
    "Skip",
    "Snooze",
    "State",
    "Task",
    "TaskFailed",
    "ThrottledError",
    "TransientError",
]
