"""What tests and benches ask of their database. One function per query of ``sql/testing.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load

_sql = load("testing", "penstock.testing")
Connection = Any


async def fast_forward(connection: Connection, stages: Sequence[int]) -> int:
    """Moves what waits for a later time ahead, so that the earliest is due now; returns how many moved."""
    answer: str = await connection.execute(_sql.fast_forward, stages)
    return int(answer.rsplit(" ", 1)[-1])


async def release_all(connection: Connection, worker: int) -> None:
    await connection.execute(_sql.release_all, worker)


async def depth(connection: Connection) -> dict[int, tuple[int, int]]:
    """stage → (waiting, leased), counted from the rows."""
    return {row["stage"]: (row["waiting"], row["leased"]) for row in await connection.fetch(_sql.depth)}


async def enqueued_with(connection: Connection, pipeline: str, input: str) -> list[int]:
    return [row["id"] for row in await connection.fetch(_sql.enqueued_with, pipeline, input)]


async def recent(connection: Connection, limit: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch(_sql.recent, limit)]
