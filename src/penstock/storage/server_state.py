"""What a server says about itself. One function per query of ``sql/server_state.sql``, each usable alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.migrate import migrations
from penstock.storage.queries import Connection, Pairs, Records, Value, load

_sql = load("server_state")
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


clock = Value[[], datetime](_sql.clock)
settings = Pairs[[], str, str](_sql.settings)
bloat = Records[[], Row](_sql.bloat, dict)
xmin_holders = Records[[], Row](_sql.xmin_holders, dict)
long_transactions = Records[[float], Row](_sql.long_transactions, dict)  # longer_than_seconds
notify_usage = Value[[], float](_sql.notify_usage)
leases_of_gone = Records[[float], Row](_sql.leases_of_gone, dict)  # late_seconds
silent_workers = Records[[], Row](_sql.silent_workers, dict)
failing_schedules = Records[[], Row](_sql.failing_schedules, dict)
overdue_duties = Records[[float], Row](_sql.overdue_duties, dict)  # late_seconds
stuck_rows = Value[[], int](_sql.stuck_rows)


async def connections(connection: Connection) -> tuple[int, int]:
    """(in use by anybody, by Penstock)."""
    row = await connection.fetchrow(_sql.connections)
    return row["used"], row["ours"]


async def indexes(connection: Connection) -> dict[str, bool]:
    """name → whether it can be used."""
    return {row["name"]: row["valid"] for row in await connection.fetch(_sql.indexes)}


async def pressure(connection: Connection) -> Pressure:
    return Pressure(**await connection.fetchrow(_sql.pressure))


async def database_size(connection: Connection) -> Mapping[str, Any]:
    row: Mapping[str, Any] = await connection.fetchrow(_sql.database_size)
    return row
