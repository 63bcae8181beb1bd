"""What a server says about itself. One function per query of ``sql/server_state.sql``, each usable alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.migrate import migrations
from penstock.storage.queries import load

_sql = load("server_state")
Connection = Any
Row = dict[str, Any]

_CREATED = re.compile(r"^create (?:unique )?index (?:if not exists )?(\w+) on penstock\.\w+[^;]*;", re.MULTILINE)
_DROPPED = re.compile(r"^drop index (?:if exists )?penstock\.(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    dead_rows: int
    live_rows: int
    oldest_snapshot_seconds: float


def expected_indexes() -> dict[str, str]:
    """name → the statement that makes it again without stopping anybody, as the migrations have it."""
    found: dict[str, str] = {}
    for migration in migrations():
        for made in _CREATED.finditer(migration.sql):
            statement = " ".join(made[0].rstrip(";").split())
            found[made[1]] = statement.replace(" index ", " index concurrently ", 1) + ";"
        for gone in _DROPPED.finditer(migration.sql):
            found.pop(gone[1], None)
    return found


async def clock(connection: Connection) -> datetime:
    at: datetime = await connection.fetchval(_sql.clock)
    return at


async def settings(connection: Connection) -> dict[str, str]:
    return {row["name"]: row["setting"] for row in await connection.fetch(_sql.settings)}


async def connections(connection: Connection) -> tuple[int, int]:
    """(in use by anybody, by Penstock)."""
    row = await connection.fetchrow(_sql.connections)
    return row["used"], row["ours"]


async def bloat(connection: Connection) -> list[Row]:
    return _rows(await connection.fetch(_sql.bloat))


async def xmin_holders(connection: Connection) -> list[Row]:
    return _rows(await connection.fetch(_sql.xmin_holders))


async def long_transactions(connection: Connection, longer_than_seconds: float) -> list[Row]:
    return _rows(await connection.fetch(_sql.long_transactions, longer_than_seconds))


async def notify_usage(connection: Connection) -> float:
    return float(await connection.fetchval(_sql.notify_usage))


async def indexes(connection: Connection) -> dict[str, bool]:
    """name → whether it can be used."""
    return {row["name"]: row["valid"] for row in await connection.fetch(_sql.indexes)}


async def leases_of_gone(connection: Connection, late_seconds: float) -> list[Row]:
    return _rows(await connection.fetch(_sql.leases_of_gone, late_seconds))


async def silent_workers(connection: Connection) -> list[Row]:
    return _rows(await connection.fetch(_sql.silent_workers))


async def failing_schedules(connection: Connection) -> list[Row]:
    return _rows(await connection.fetch(_sql.failing_schedules))


async def overdue_duties(connection: Connection, late_seconds: float) -> list[Row]:
    return _rows(await connection.fetch(_sql.overdue_duties, late_seconds))


async def pressure(connection: Connection) -> Pressure:
    return Pressure(**dict(await connection.fetchrow(_sql.pressure)))


async def stuck_rows(connection: Connection) -> int:
    return int(await connection.fetchval(_sql.stuck_rows))


async def database_size(connection: Connection) -> Mapping[str, Any]:
    row: Mapping[str, Any] = await connection.fetchrow(_sql.database_size)
    return row


def _rows(found: Any) -> list[Row]:
    return [dict(row) for row in found]
