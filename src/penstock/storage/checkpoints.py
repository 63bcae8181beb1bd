"""Results of finished stages. One function per query of ``sql/checkpoints.sql``."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.model import Claimed, Earlier
from penstock.storage.queries import Connection, Records, Value, load

_sql = load("checkpoints")

# Results up to this size come with the claim, one query for all of it.
_SMALL_BYTES = 16 * 1024
ANY_SIZE = 2**31 - 1


class Origin(NamedTuple):
    """``before``: the stage whose result a task works on; ``version``: of the code that would run it."""

    before: int | None
    version: str | None


async def earlier(
    connection: Connection,
    claimed: Sequence[Claimed],
    origins: Sequence[Origin],
    *,
    most_bytes: int = _SMALL_BYTES,
) -> None:
    """Fills in what each of them begins with."""
    rows = await connection.fetch(
        _sql.earlier,
        [one.task_id for one in claimed],
        [one.stage for one in claimed],
        [one.run for one in claimed],
        [one.version for one in origins],
        most_bytes,
        [one.before for one in origins],
    )
    found = {row["task_id"]: row for row in rows}
    for one in claimed:
        if (row := found.get(one.task_id)) is not None:
            one.earlier = Earlier(
                previous=row["previous"],
                previous_run=row["previous_run"],
                reusable=row["reusable"],
                reusable_from=row["reusable_from"],
                deferred=row["deferred"],
            )


of_stage = Value[[int, str], str | None](_sql.of_stage)  # task_id, stage
of_task = Records[[int], dict[str, Any]](_sql.of_task, dict)
