"""What jobs call when they have ended. One function per query of ``sql/callbacks.sql``."""

from dataclasses import dataclass
from datetime import datetime

from penstock.storage.queries import Changed, Connection, Record, Value, load

_sql = load("callbacks")


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


# How many bytes its arguments have; None: the job has a callback already, or is gone.
set_callback = Value[[int, str], int | None](_sql.set)  # job_id, callback
get = Record[[int], Callback](_sql.get, Callback)
# False: somebody else calls it back now, or did.
hold = Changed[[int]](_sql.hold)
# The callback's task. None: the job has work again, or was deleted meanwhile.
fire = Value[[int], int | None](_sql.fire)
fail = Changed[[int, str]](_sql.fail)  # job_id, problem


async def due(connection: Connection, *, after: int, limit: int) -> Looked:
    row = await connection.fetchrow(_sql.due, after, limit)
    return Looked(count=row["looked"], last_id=row["last_id"], ended=tuple(row["ended"]))
