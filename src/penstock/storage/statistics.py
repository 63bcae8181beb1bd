"""What happened and how things stood, per stage and minute. One function per query of ``sql/statistics.sql``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("statistics")
Connection = Any
Row = tuple[int, int, int]

RUNS, RETRIES, RUN_MS, WAITS, WAIT_MS = 20, 21, 22, 23, 24
WAITING, RUNNING, OLDEST_SECONDS, LOOKED = 30, 31, 32, 33
RUN_BUCKETS, WAIT_BUCKETS = 100, 150
_NO_STAGE = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one stage since the last time. ``retries``: runs that burned an attempt and will be tried again. The buckets
    count runs and waits by how long they took."""

    stage: int
    runs: int
    retries: int
    milliseconds: int
    waits: int = 0
    wait_milliseconds: int = 0
    run_buckets: Mapping[int, int] = field(default_factory=dict)
    wait_buckets: Mapping[int, int] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        sums = {
            RUNS: self.runs,
            RETRIES: self.retries,
            RUN_MS: self.milliseconds,
            WAITS: self.waits,
            WAIT_MS: self.wait_milliseconds,
            **{RUN_BUCKETS + bucket: n for bucket, n in self.run_buckets.items()},
            **{WAIT_BUCKETS + bucket: n for bucket, n in self.wait_buckets.items()},
        }
        return ((self.stage, state, n) for state, n in sums.items() if n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a stage stands at one moment."""

    stage: int
    waiting: int
    running: int
    oldest_seconds: int

    def rows(self) -> Iterator[Row]:
        seen = {WAITING: self.waiting, RUNNING: self.running, OLDEST_SECONDS: self.oldest_seconds}
        return ((self.stage, state, n) for state, n in seen.items() if n > 0)


async def add(connection: Connection, measured: Sequence[Measured]) -> None:
    await connection.execute(_sql.add, *_columns([row for one in measured for row in one.rows()]))


async def note(connection: Connection, standings: Sequence[Standing]) -> None:
    rows = [row for one in standings for row in one.rows()]
    await connection.execute(_sql.note, *_columns([(_NO_STAGE, LOOKED, 1), *rows]))


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


async def expire_details(connection: Connection) -> int:
    answer: str = await connection.execute(_sql.expire_details)
    return int(answer.rsplit(" ", 1)[-1])


def _columns(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
