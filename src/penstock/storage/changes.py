"""Telling outside listeners. One function per query of ``sql/changes.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load

_sql = load("changes")
Connection = Any

CHANNEL = "penstock_changes"


async def tell(connection: Connection, payload: str) -> None:
    await connection.execute(_sql.tell, payload)


async def clock(connection: Connection) -> float:
    """Seconds since 1970, as the database sees it."""
    return float(await connection.fetchval(_sql.clock))


async def owners(connection: Connection, job_ids: Sequence[int]) -> dict[int, str | None]:
    """Jobs that do not exist are left out."""
    return {row["id"]: row["owner"] for row in await connection.fetch(_sql.owners, list(job_ids))}
