"""What jobs call when they have ended. One function per query of ``sql/callbacks.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("callbacks")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """``task_id`` and ``called_back_at`` are None until it was called; ``problem``: why it could not be."""

    pipeline: str
    task_id: int | None
    called_back_at: datetime | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A page of jobs that have not called back: how many, the last of them, and those that have ended."""

    count: int
    last_id: int | None
    ended: tuple[int, ...]


async def set_callback(connection: Connection, job_id: int, callback: str) -> int | None:
    """How many bytes its arguments have; None: the job has a callback already, or is gone."""
    size_bytes: int | None = await connection.fetchval(_sql.set, job_id, callback)
    return size_bytes


async def get(connection: Connection, job_id: int) -> Callback | None:
    row = await connection.fetchrow(_sql.get, job_id)
    return None if row is None else Callback(**dict(row))


async def due(connection: Connection, *, after: int, limit: int) -> Looked:
    row = await connection.fetchrow(_sql.due, after, limit)
    return Looked(count=row["looked"], last_id=row["last_id"], ended=tuple(row["ended"]))


async def hold(connection: Connection, job_id: int) -> bool:
    """False: somebody else calls it back now, or did."""
    return await connection.fetchval(_sql.hold, job_id) is not None


async def fire(connection: Connection, job_id: int) -> int | None:
    """The callback's task. None: the job has work again, or was deleted meanwhile."""
    task_id: int | None = await connection.fetchval(_sql.fire, job_id)
    return task_id


async def fail(connection: Connection, job_id: int, problem: str) -> bool:
    return await connection.fetchval(_sql.fail, job_id, problem) is not None
