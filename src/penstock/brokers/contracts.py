"""The two contracts that users implement when they think in jobs and envelopes: who dispatches, and who handles.

A job of these is a task like any other: stored in PostgreSQL before anything else happens, with retries, deadlines,
lanes and dead letters. The envelope a handler gets is made from the task; what travels through a broker is a reference
to it (``penstock.brokers.envelope``).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from penstock.core.app import App
from penstock.core.handles import Task
from penstock.model import Priority

if TYPE_CHECKING:
    from penstock.core.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeader:
    """``job_id`` is that of the task that ``dispatch`` answered. ``version``: that of the body, 1 where it says none.
    ``created_at``: when this try became due. ``attempt``: 1 in the first try."""

    job_id: UUID
    type: str
    version: int
    created_at: datetime
    attempt: int
    max_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTracing:
    """Of the W3C trace the job was dispatched in, if there was one."""

    trace_id: str | None = None
    span_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnvelope:
    """What a ``JobHandler`` is given. ``body``: what was dispatched, and the ``task_id``."""

    header: JobHeader
    body: Mapping[str, Any]
    tracing: JobTracing


class JobTask(Task[Any]):
    """What a dispatcher answers: the task, and the ``job_id`` under which its handler and its messages know it."""

    __slots__ = ("job_id",)

    def __init__(self, app: App, task_id: int, job_id: UUID, created: bool = True) -> None:
        super().__init__(app, task_id, created)
        self.job_id = job_id


class JobDispatcher(ABC):
    """The producer's side. Code that depends on this can be tested with ``penstock.testing.RecordingDispatcher``."""

    @abstractmethod
    async def dispatch(
        self,
        type: str,
        body: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        priority: int | str | Priority = Priority.NORMAL,
        delay: float | timedelta | None = None,
    ) -> JobTask:
        """Returns when the job is stored, with its task: to wait for its result, to look at it, to cancel it, and with
        the ``job_id`` of its envelope. The same ``idempotency_key`` again gives the same task and stores nothing.
        ``body``: JSON of at most 64 KiB; a ``version`` in it says which handlers may take it."""


class JobHandler(ABC):
    """The consumer's side: one class per type of job. ``app.add_handler(MyHandler())`` makes a stage of it.

    ``handle`` may return a value or an ending (``Snooze``, ``Skip`` …) and raise as any task may. A body of a
    ``version`` above the handler's is left for a newer worker: it waits, and no attempt is burned.
    """

    type: ClassVar[str]
    version: ClassVar[int] = 1
    pool: ClassVar[int | None] = None
    timeout: ClassVar[float | timedelta | None] = None
    max_attempts: ClassVar[int | None] = None
    max_running: ClassVar[int | None] = None

    @abstractmethod
    async def handle(self, envelope: JobEnvelope, ctx: "Context") -> Any:
        """One run of one job."""
