"""The table ``catalogue.search_events``, and the recorder that writes it in batches."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("search_events", "penstock.extensions.catalogue")
Connection = Any
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEvent:
    """``hit`` None: the provider gave no answer, and ``error`` says why."""

    task_id: int
    job_id: int | None
    attempt: int
    provider: str
    query: str
    hit: bool | None
    ms: float
    cost: float = 0.0
    error: str | None = None


async def append(connection: Connection, events: Sequence[SearchEvent]) -> datetime:
    columns: list[list[Any]] = [[] for _ in range(9)]
    for event in events:
        texts = (event.provider, event.query[:_LONGEST_TEXT], event.hit, event.ms, event.cost)
        error = None if event.error is None else event.error[:_LONGEST_TEXT]
        row = (event.task_id, event.job_id, event.attempt, *texts, error)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    at: datetime = await connection.fetchval(_sql.append, *columns)
    return at


async def forget(connection: Connection, *, older_than_seconds: float, most: int) -> int:
    """How many were removed."""
    said: str = await connection.execute(_sql.forget, older_than_seconds, most)
    return int(said.rpartition(" ")[2])


async def forget_orphans(connection: Connection, *, most: int) -> int:
    """How many were removed."""
    said: str = await connection.execute(_sql.forget_orphans, most)
    return int(said.rpartition(" ")[2])


class Recorder:
    """Writes events of all running handlers together: one statement at a time, with whatever came meanwhile.

    ``record`` returns when its events are stored, so no result exists whose lookups are not written down.
    """

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._connect = connect
        self._waiting: list[tuple[Sequence[SearchEvent], asyncio.Future[datetime]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def record(self, events: Sequence[SearchEvent]) -> datetime:
        """When they were stored, by the database's clock."""
        stored: asyncio.Future[datetime] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, stored))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await stored

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._write_batch()
        finally:
            self._writing = None

    async def _write_batch(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            async with self._connect() as connection:
                at = await append(connection, [event for events, _ in batch for event in events])
        except BaseException as error:
            for _, stored in batch:
                if isinstance(error, Exception) and not stored.done():
                    stored.set_exception(error)
                stored.cancel()
            if isinstance(error, Exception):
                return
            raise
        for _, stored in batch:
            if not stored.done():
                stored.set_result(at)
