"""Counters that no settle waits for. One function per query of ``sql/counts.sql``."""

from typing import Any

from penstock.storage.queries import load

_sql = load("counts")
Connection = Any


async def fold(connection: Connection, batch: int) -> int:
    return int(await connection.fetchval(_sql.fold, batch))


async def expire_statistics(connection: Connection, keep_seconds: float) -> int:
    answer: str = await connection.execute(_sql.expire_statistics, keep_seconds)
    return int(answer.rsplit(" ", 1)[-1])
