"""Results of finished stages. One function per query of ``sql/checkpoints.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load

_sql = load("checkpoints")
Connection = Any


async def previous(connection: Connection, wanted: Sequence[tuple[int, int]]) -> dict[int, str | None]:
    """task → encoded result of the stage before the one given with it."""
    rows = await connection.fetch(_sql.previous, [task for task, _ in wanted], [stage for _, stage in wanted])
    return {row["task_id"]: row["result"] for row in rows}


async def of_task(connection: Connection, task_id: int) -> list[dict[str, Any]]:
    return [dict(row) for row in await connection.fetch(_sql.of_task, task_id)]
