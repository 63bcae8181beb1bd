"""A dispatcher that remembers, for tests of code that dispatches: no database, no worker."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson

from penstock.brokers.contracts import JobDispatcher, JobTask, checked_body
from penstock.core.enqueue import EnqueueOptions
from penstock.core.payload import encode
from penstock.errors import UsageError
from penstock.lifecycle import State
from penstock.model import MAX_INPUT_BYTES, Priority, priority_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """One call. ``body`` is a copy, as it would be read back from the database."""

    job_id: UUID
    type: str
    body: Mapping[str, Any]
    idempotency_key: str | None
    priority: int
    delay: float | timedelta | None


class RecordedTask(JobTask):
    """Has an ``id`` and a ``job_id``; there is no task behind it, and whoever asks for more is told so."""

    __slots__ = ()

    def __init__(self, number: int, job_id: UUID, created: bool = True) -> None:
        self.id, self.job_id, self.created = number, job_id, created

    async def _outcome(self, timeout: float | None) -> tuple[int, str | None, str | None]:
        raise self._nothing_stored()

    async def cancel(self, by: str = "api") -> State:
        raise self._nothing_stored()

    async def reprocess(self, *, by: str = "api", from_stage: str | None = None, reset_attempts: bool = True) -> None:
        raise self._nothing_stored()

    async def _get(self) -> dict[str, Any]:
        raise self._nothing_stored()

    def _nothing_stored(self) -> UsageError:
        return UsageError(
            f"Job {self.job_id} was recorded and not stored, so it never runs."
            " Look at RecordingDispatcher.dispatched, or use EngineDispatcher with a worker."
        )


class RecordingDispatcher(JobDispatcher):
    """Refuses what the real one refuses, except names it cannot know: types that nobody handles."""

    def __init__(self) -> None:
        self.dispatched: list[Dispatched] = []

    async def dispatch(
        self,
        type: str,
        body: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        priority: int | str | Priority = Priority.NORMAL,
        delay: float | timedelta | None = None,
    ) -> JobTask:
        EnqueueOptions(idempotency_key=idempotency_key, delay=delay)
        urgency = priority_number(priority)
        stored = encode(checked_body(type, body), what=f"input of {type!r}", limit_bytes=MAX_INPUT_BYTES)
        if idempotency_key is not None:
            for number, one in enumerate(self.dispatched, start=1):
                if (one.type, one.idempotency_key) == (type, idempotency_key):
                    return RecordedTask(number, one.job_id, created=False)
        made = Dispatched(
            job_id=uuid4(),
            type=type,
            body=orjson.loads(stored),
            idempotency_key=idempotency_key,
            priority=urgency,
            delay=delay,
        )
        self.dispatched.append(made)
        return RecordedTask(len(self.dispatched), made.job_id)

    def of(self, type: str) -> list[Dispatched]:
        """In the order they were dispatched."""
        return [one for one in self.dispatched if one.type == type]
