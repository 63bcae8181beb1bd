"""Counters that no settle waits for. One function per query of ``sql/counts.sql``."""

from typing import Any

from penstock.storage.queries import load

_sql = load("counts")
Connection = Any


async def fold(connection: Connection, batch: int) -> int:
    count: int = await connection.fetchval(_sql.fold, batch)
    return count


async def by_stage(connection: Connection) -> dict[int, dict[int, int]]:
    """stage → state → n."""
    found: dict[int, dict[int, int]] = {}
    for row in await connection.fetch(_sql.by_stage):
        found.setdefault(row["stage"], {})[row["state"]] = row["n"]
    return found


async def leased_by_stage(connection: Connection) -> dict[int, int]:
    return {row["stage"]: row["leased"] for row in await connection.fetch(_sql.leased_by_stage)}


async def per_minute(connection: Connection, minutes: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch(_sql.per_minute, minutes)]


async def expire_statistics(connection: Connection, keep_seconds: float) -> int:
    answer: str = await connection.execute(_sql.expire_statistics, keep_seconds)
    return int(answer.rsplit(" ", 1)[-1])
