"""Upkeep duties: due times and last results. One function per query of ``sql/duties.sql``."""

from typing import Any

import orjson

from penstock.storage.queries import load

_sql = load("duties")
Connection = Any


async def take(connection: Connection, name: str, every_seconds: float) -> bool:
    return await connection.fetchval(_sql.take, name, every_seconds) is not None


async def done(connection: Connection, name: str, took_ms: float, counts: dict[str, int]) -> None:
    await connection.execute(_sql.done, name, took_ms, orjson.dumps(counts).decode())


async def listing(connection: Connection) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch(_sql.list)]
