"""What runners measured, per stage and minute. One function per query of ``sql/statistics.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.storage.queries import load

_sql = load("statistics")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one stage since the last time. ``retries``: runs that burned an attempt and will be tried again."""

    stage: int
    runs: int
    retries: int
    milliseconds: int


async def add(connection: Connection, measured: Sequence[Measured]) -> None:
    await connection.execute(
        _sql.add,
        [one.stage for one in measured],
        [one.runs for one in measured],
        [one.retries for one in measured],
        [one.milliseconds for one in measured],
    )
