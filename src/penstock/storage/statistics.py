"""What happened and how things stood, per stage and minute. One function per query of ``sql/statistics.sql``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.storage.queries import Affected, Connection, load

_sql = load("statistics")
Row = tuple[int, int, int]

# What a row counts: runs, those of them that burned an attempt and are tried again, and the time they took and waited.
# The buckets count runs and waits by how long they took.
RUNS, RETRIES, RUN_MS, WAITS, WAIT_MS = 20, 21, 22, 23, 24
WAITING, RUNNING, OLDEST_SECONDS, LOOKED = 30, 31, 32, 33
RUN_BUCKETS, WAIT_BUCKETS = 100, 150
_NO_STAGE = 0


async def add(connection: Connection, rows: Sequence[Row]) -> None:
    """What was measured since the last time: (stage, state, how many more)."""
    await connection.execute(_sql.add, *_columns(rows))


async def note(connection: Connection, loads: Sequence[Mapping[str, Any]]) -> None:
    """How every stage stands, as ``reads.stage_load`` tells it."""
    rows = [(_NO_STAGE, LOOKED, 1)]
    for stage in loads:
        oldest = 0 if stage["oldest_at"] is None else int((stage["read_at"] - stage["oldest_at"]).total_seconds())
        seen = {WAITING: stage["waiting"], RUNNING: stage["running"], OLDEST_SECONDS: oldest}
        rows += [(stage["id"], state, n) for state, n in seen.items() if n > 0]
    await connection.execute(_sql.note, *_columns(rows))


async def by_step(
    connection: Connection, *, since: datetime, step_minutes: int, stages: Sequence[int] | None
) -> dict[datetime, dict[int, int]]:
    """By the beginning of each step, and by state. ``since`` is a whole minute."""
    found: dict[datetime, dict[int, int]] = {}
    for row in await connection.fetch(_sql.by_step, since, step_minutes, stages):
        found.setdefault(row["at"], {})[row["state"]] = row["n"]
    return found


async def spread(connection: Connection) -> dict[int, dict[int, int]]:
    """By stage and state: ``RUN_BUCKETS`` and ``WAIT_BUCKETS`` on, of the last hour."""
    found: dict[int, dict[int, int]] = {}
    for row in await connection.fetch(_sql.spread):
        found.setdefault(row["stage"], {})[row["state"]] = row["n"]
    return found


expire_details = Affected[[]](_sql.expire_details)


def _columns(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
