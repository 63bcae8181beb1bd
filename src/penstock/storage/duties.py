"""Upkeep duties: due times and last results. One function per query of ``sql/duties.sql``."""

from collections.abc import Mapping
from typing import Any

import orjson

from penstock.storage.queries import Changed, Connection, Records, load

_sql = load("duties")


take = Changed[[str, float]](_sql.take)  # name, every_seconds
listing = Records[[], dict[str, Any]](_sql.list, dict)


async def done(connection: Connection, name: str, took_ms: float, counts: dict[str, int]) -> None:
    await connection.execute(_sql.done, name, took_ms, orjson.dumps(counts).decode())


async def position(connection: Connection, name: str) -> dict[str, Any] | None:
    """How far the last run got; None: from the beginning."""
    found = await connection.fetchval(_sql.position, name)
    return None if found is None else orjson.loads(found)


async def reach(connection: Connection, name: str, position: Mapping[str, Any] | None) -> None:
    await connection.execute(_sql.reach, name, None if position is None else orjson.dumps(position).decode())
