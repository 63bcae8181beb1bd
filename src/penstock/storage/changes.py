"""Telling outside listeners. One function per query of ``sql/changes.sql``."""

from typing import Any

from penstock.storage.queries import load

_sql = load("changes")
Connection = Any

CHANNEL = "penstock_changes"


async def tell(connection: Connection, payload: str) -> None:
    await connection.execute(_sql.tell, payload)


async def clock(connection: Connection) -> float:
    """Seconds since 1970, as the database sees it."""
    seconds: float = await connection.fetchval(_sql.clock)
    return seconds
