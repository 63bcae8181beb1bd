"""The table half of the double ledger. One function per query of ``sql/ledger.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.storage.queries import load

_sql = load("ledger", "penstock.testing")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A handler was here: ``kind`` is start, end or effect."""

    task_id: int
    lease: int
    kind: str
    pid: int
    at: float


async def create(connection: Connection) -> None:
    await connection.execute(_sql.create)


async def append(connection: Connection, task_id: int, lease: int, kind: str, pid: int) -> None:
    await connection.execute(_sql.append, task_id, lease, kind, pid)


async def entries(connection: Connection) -> list[Entry]:
    return [Entry(**dict(row)) for row in await connection.fetch(_sql.entries)]


async def outcomes(connection: Connection, task_ids: Sequence[int]) -> dict[int, tuple[int | None, int]]:
    """task → (lease that settled it, status)."""
    rows = await connection.fetch(_sql.outcomes, task_ids)
    return {row["task_id"]: (row["lease"], row["status"]) for row in rows}


async def unfinished(connection: Connection, task_ids: Sequence[int]) -> set[int]:
    return {row["task_id"] for row in await connection.fetch(_sql.unfinished, task_ids)}


async def miscounted(connection: Connection) -> int:
    """By how many the counted endings differ from the stored ones; 0 is right."""
    return sum(abs((row["counted"] or 0) - row["stored"]) for row in await connection.fetch(_sql.miscounted))


async def uncaused(connection: Connection, task_ids: Sequence[int]) -> list[int]:
    return [row["task_id"] for row in await connection.fetch(_sql.uncaused, task_ids)]


async def terminate_one(connection: Connection) -> None:
    await connection.fetch(_sql.terminate_one)


async def terminate_listeners(connection: Connection) -> None:
    await connection.fetch(_sql.terminate_listeners)


async def held_by(connection: Connection, supervisor_pid: int) -> set[tuple[int, int]]:
    return {(row["task_id"], row["lease"]) for row in await connection.fetch(_sql.held_by, supervisor_pid)}
