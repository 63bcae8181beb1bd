"""Which rows the gentle profile may claim. One function per query of ``sql/paced.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load
from penstock.storage.queue import Wanted

_sql = load("paced")
Connection = Any


async def ripe(connection: Connection, wanted: Sequence[Wanted], room: int, least_age_seconds: float) -> list[int]:
    """Tasks in the order they should be claimed, at most ``room``."""
    rows = await connection.fetch(
        _sql.ripe,
        [one.stage for one in wanted],
        [one.lane for one in wanted],
        [one.quota for one in wanted],
        [one.after[0] for one in wanted],
        [one.after[1] for one in wanted],
        room,
        least_age_seconds,
    )
    return [row["task_id"] for row in rows]
