"""Tasks going in and being read. One function per query of ``sql/tasks.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from penstock.storage.queries import Command, Connection, Record, Records, load

_sql = load("tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """Everything `penstock.enqueue` takes, encoded."""

    pipeline: str
    input: str
    priority: int = 0
    delay_seconds: float | None = None
    run_at: datetime | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    lane: str | None = None
    owner: str | None = None
    job_id: int | None = None
    max_attempts: int | None = None
    options: str | None = None
    trace: str | None = None
    notify: bool = True


# In the order of the query's parameters.
_values = attrgetter(*NewTask.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What the tasks of one `enqueue_many` share."""

    stage: int
    lane: int
    job_id: int | None
    owner: str | None
    max_attempts: int
    options: str | None
    trace: str | None
    run_at: datetime | None
    delay_seconds: float | None

    @property
    def shared(self) -> tuple[Any, ...]:
        """What is in the row of each task."""
        return self.stage, self.job_id, self.owner, self.options, self.trace


async def enqueue(connection: Connection, task: NewTask) -> tuple[int, bool]:
    row = await connection.fetchrow(_sql.enqueue, *_values(task))
    return row["task_id"], row["created"]


async def enqueue_many(connection: Connection, batch: Batch, inputs: Sequence[str]) -> int:
    when = (batch.run_at, batch.delay_seconds)
    row = await connection.fetchrow(_sql.enqueue_many, *batch.shared, inputs, batch.lane, *when, batch.max_attempts)
    stored: int = row["stored"]
    return stored


async def copy_many(connection: Connection, batch: Batch, inputs: Sequence[str]) -> int:
    """The same by COPY, which writes whole pages at once: twice as fast for large batches. Needs a transaction."""
    drawn = await connection.fetchrow(_sql.draw_ids, len(inputs), batch.run_at, batch.delay_seconds)
    ids, run_at = drawn["ids"], drawn["run_at"]
    shared = batch.shared
    await connection.copy_records_to_table(
        "tasks",
        schema_name="penstock",
        columns=("id", "input", "entry", "job_id", "owner", "options", "trace"),
        records=[(task_id, text, *shared) for task_id, text in zip(ids, inputs, strict=True)],
    )
    place = (batch.lane, batch.stage, run_at, batch.max_attempts)
    await connection.copy_records_to_table(
        "queue",
        schema_name="penstock",
        columns=("task_id", "lane", "stage", "run_at", "max_attempts"),
        records=[(task_id, *place) for task_id in ids],
    )
    await connection.execute(_sql.count_copied, batch.lane, batch.stage, len(ids))
    return len(ids)


async def outcomes_of(connection: Connection, task_ids: Sequence[int]) -> dict[int, tuple[int, str | None, str | None]]:
    """task → (status, result, error) of those that have ended."""
    rows = await connection.fetch(_sql.outcomes_of, task_ids)
    return {row["task_id"]: (row["status"], row["result"], row["error"]) for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A task that is there; ``owner`` None: nobody's in particular."""

    owner: str | None


wake = Command[[str]](_sql.wake)  # pipeline
owner = Record[[int], Owned](_sql.owner, Owned)
get = Record[[int], dict[str, Any]](_sql.get, dict, json=("input", "options", "result", "error"))
history = Records[[int], dict[str, Any]](_sql.history, dict, json=("error",))


async def existing(connection: Connection, task_ids: Sequence[int]) -> set[int]:
    return {row["id"] for row in await connection.fetch(_sql.exists_of, task_ids)}


async def age_seconds(connection: Connection, task_id: int) -> float:
    """0 for one that is not there."""
    return float(await connection.fetchval(_sql.age, task_id) or 0.0)


async def left_seconds(connection: Connection, task_id: int, run: int) -> float:
    """0 for one that was never left for another release."""
    return float(await connection.fetchval(_sql.left, task_id, run) or 0.0)
