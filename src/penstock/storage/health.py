"""What health asks the database. One function per query of ``sql/health.sql``."""

from dataclasses import dataclass
from typing import Any

from penstock.storage.queries import load

_sql = load("health")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    dead_rows: int
    live_rows: int
    oldest_snapshot_seconds: float


async def pressure(connection: Connection) -> Pressure:
    return Pressure(**dict(await connection.fetchrow(_sql.pressure)))


async def stuck_rows(connection: Connection) -> int:
    count: int = await connection.fetchval(_sql.stuck_rows)
    return count
