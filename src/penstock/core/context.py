"""``ctx``: what a handler can ask and do while it runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from penstock.core.payload import decode
from penstock.errors import StaleLease, UsageError
from penstock.model import Claimed

if TYPE_CHECKING:
    from penstock.limits.limiter import Limiter


class Surroundings(Protocol):
    """What the runner gives to its contexts."""

    def limiter(self, key: str, lane: int) -> "Limiter": ...

    def transaction(self, context: "Context") -> Any: ...

    def progress(self, claimed: Claimed, done: float, total: float | None, note: str) -> None: ...

    async def job_metadata(self, job_id: int) -> Mapping[str, Any]: ...

    async def result_of(self, task_id: int, stage: str) -> Any: ...


@dataclass(slots=True, eq=False)
class Transaction:
    """The app's own connection inside the transaction that also settles the task."""

    connection: Any
    result: Any = None


class Context:
    """One run of one task.

    ``lease`` is the fence for outside systems: it grows with every claim, so a system that remembers the highest
    one it saw can refuse a zombie. ``idempotency_key`` stays the same over retries: hand it to APIs that take one.
    """

    __slots__ = ("_claimed", "_surroundings", "cancelled", "deadline", "ended", "previous")

    def __init__(self, claimed: Claimed, surroundings: Surroundings) -> None:
        self._claimed = claimed
        self._surroundings = surroundings
        # True once somebody cancelled the task; an async handler is also interrupted, a thread has to look.
        self.cancelled = False
        self.deadline: float | None = None
        # Set when ctx.transaction() settled the task, so that the return value is not settled again.
        self.ended = False
        # Result of the stage before, in a pipeline.
        self.previous: Any = None

    @property
    def task_id(self) -> int:
        return self._claimed.task_id

    @property
    def job_id(self) -> int | None:
        return self._claimed.job_id

    @property
    def attempt(self) -> int:
        """1 in the first try."""
        return self._claimed.attempt + 1

    @property
    def max_attempts(self) -> int:
        return self._claimed.max_attempts

    @property
    def run(self) -> int:
        """1, or more after a reprocess."""
        return self._claimed.run

    @property
    def lease(self) -> int:
        return self._claimed.lease

    @property
    def due_at(self) -> datetime:
        """When this try became due, by the database's clock."""
        return self._claimed.run_at

    @property
    def trace(self) -> str | None:
        return self._claimed.trace

    @property
    def idempotency_key(self) -> str:
        return self._claimed.idempotency_key or f"penstock-{self._claimed.task_id}-{self._claimed.run}"

    async def job_metadata(self) -> Mapping[str, Any]:
        """What its job was submitted with; empty for a task without a job. Asked of the database once per process."""
        return {} if self.job_id is None else await self._surroundings.job_metadata(self.job_id)

    @property
    def input(self) -> Mapping[str, Any]:
        """What the task was enqueued with; later stages of a pipeline are handed the result before them instead."""
        stored: Mapping[str, Any] = decode(self._claimed.input)
        return stored

    async def result_of(self, stage: str) -> Any:
        """The newest result of an earlier stage of the pipeline, None before there is one."""
        return await self._surroundings.result_of(self.task_id, stage)

    def limiter(self, key: str) -> "Limiter":
        """The fleet-wide budget of this key: ``async with ctx.limiter("wikidata"): …``

        Tasks that wait for one key take turns by lane.
        """
        return self._surroundings.limiter(key, self._claimed.lane)

    def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Tell people how far it is. Cheap: shown with the next heartbeat, stored nowhere."""
        self._surroundings.progress(self._claimed, done, total, note)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """The app's writes and the end of the task commit together, fenced by the lease.

        At the end of the block the task is settled as DONE with ``transaction.result``; where the lease is not
        current any more, :class:`StaleLease` is raised and nothing is written. May be used once per run.
        """
        if self.ended:
            raise UsageError("ctx.transaction() has settled this task already; it can be used once per run.")
        async with self._surroundings.transaction(self) as transaction:
            yield transaction
        self.ended = True

    def stale(self) -> StaleLease:
        return StaleLease(task_id=self._claimed.task_id, lease=self._claimed.lease)

    async def sleep(self, delay_seconds: float) -> None:
        """Sleep that ends early when the task is cancelled."""
        end = asyncio.get_running_loop().time() + delay_seconds
        while not self.cancelled and (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, 0.5))
