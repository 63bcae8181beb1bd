"""Embedding tasks as people see them. One function per query of ``sql/embedding_tasks.sql``, or per choice of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from penstock.apps.article_search.article import Operation
from penstock.apps.article_search.names import PIPELINE
from penstock.apps.article_search.trouble import Category, category_of_stored
from penstock.errors import InvalidSetting
from penstock.lifecycle import State
from penstock.model import Priority
from penstock.storage.queries import load

_sql = load("embedding_tasks", "penstock.apps.article_search")
Connection = Any
_NEWEST = 2**63 - 1
_MOST = 1001


class TaskStatus(StrEnum):
    """The engine's states in the words of an embedding: what was skipped is completed, too."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_STATUSES = (
    TaskStatus.PENDING,
    TaskStatus.PROCESSING,
    TaskStatus.COMPLETED,
    TaskStatus.FAILED,
    TaskStatus.COMPLETED,
    TaskStatus.COMPLETED,
    TaskStatus.CANCELLED,
)
_DIRECT = {
    TaskStatus.PENDING: _sql.pending,
    TaskStatus.PROCESSING: _sql.processing,
    TaskStatus.FAILED: _sql.failed,
}
_ENDINGS = {TaskStatus.COMPLETED: [2, 4, 5], TaskStatus.CANCELLED: [6]}
_ADVICE = {
    Category.TRANSIENT: "It is tried again by itself; after the last try `penstock articles retry-failed` does it.",
    Category.CONFIGURATION: "Change what the error names, then `penstock articles retry-failed`.",
    Category.DATA: "The text itself is refused: edit the article; saving it queues a new embedding.",
    Category.RESOURCE: "Free memory, disk or quota, then `penstock articles retry-failed --category resource`.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTask:
    """``slug`` and ``generation`` are None once the article or the generation is gone. ``error``: of the ending, or of
    the last run of one that waits for its next try. ``advice``: what a person can do about it. ``result``: what the
    embedding came to, or the reason why there was none."""

    task_id: int
    article_id: int
    slug: str | None
    revision: int | None
    operation: Operation
    generation: str | None
    owner: str | None
    priority: str
    status: TaskStatus
    skipped: bool
    attempts: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    next_run_at: datetime | None
    ended_at: datetime | None
    error: str | None
    category: Category | None
    advice: str | None
    result: Mapping[str, Any] | None


async def page(
    connection: Connection, *, owner: str | None, status: str | None = None, after: int | None = None, limit: int = 50
) -> list[EmbeddingTask]:
    """Newest first. ``owner`` None: everybody's; ``after``: the task that the page before ended with."""
    place, most = _NEWEST if after is None else after, min(max(limit, 1), _MOST)
    if status is None:
        rows = await connection.fetch(_sql.newest, place, owner, most, PIPELINE)
    elif (chosen := _status(status)) in _DIRECT:
        rows = await connection.fetch(_DIRECT[chosen], place, owner, most, PIPELINE)
    else:
        rows = await connection.fetch(_sql.ended, place, owner, most, PIPELINE, _ENDINGS[chosen])
    found = await of_ids(connection, [row["id"] for row in rows])
    return [found[row["id"]] for row in rows if row["id"] in found]


async def one(connection: Connection, task_id: int) -> EmbeddingTask | None:
    """None also for a task of something else."""
    return (await of_ids(connection, [task_id])).get(task_id)


async def of_ids(connection: Connection, task_ids: Sequence[int]) -> dict[int, EmbeddingTask]:
    """Those that still exist: completed ones are cleared after a time."""
    rows = await connection.fetch(_sql.rows, task_ids, PIPELINE)
    return {row["task_id"]: _task(row) for row in rows}


def _status(text: str) -> TaskStatus:
    try:
        return TaskStatus(text)
    except ValueError:
        raise InvalidSetting("status", text, f"use one of {', '.join(TaskStatus)}") from None


def _task(row: Mapping[str, Any]) -> EmbeddingTask:
    given = orjson.loads(row["input"])
    status = _STATUSES[row["state"]]
    told = None if row["error"] is None else orjson.loads(row["error"])
    # The engine keeps why something was skipped or cancelled where it keeps errors.
    trouble = told if status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED) else None
    category = None if trouble is None else category_of_stored(trouble)
    result = _result(row["result"], told if trouble is None else None)
    return EmbeddingTask(
        task_id=row["task_id"],
        article_id=given.get("article", 0),
        slug=row["slug"],
        revision=given.get("revision"),
        operation=_operation(given.get("operation")),
        generation=row["generation"],
        owner=row["owner"],
        priority=_priority(row["priority"]),
        status=status,
        skipped=row["state"] == State.SKIPPED,
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        created_at=row["created_at"],
        started_at=row["updated_at"] if status is TaskStatus.PROCESSING else _began(result),
        next_run_at=row["run_at"] if status is TaskStatus.PENDING else None,
        ended_at=row["ended_at"],
        error=None if trouble is None else trouble.get("message"),
        category=category,
        advice=None if category is None else _ADVICE[category],
        result=result,
    )


def _result(stored: str | None, told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the embedding returned, or why there was none."""
    result = None if stored is None else orjson.loads(stored)
    if isinstance(result, dict):
        return result
    return None if told is None else {"reason": told.get("message")}


def _began(result: Mapping[str, Any] | None) -> datetime | None:
    began = None if result is None else result.get("started_at")
    return datetime.fromisoformat(began) if isinstance(began, str) else None


def _operation(text: object) -> Operation:
    """A task that somebody made by hand may say anything, and is shown all the same."""
    return next((one for one in Operation if one.value == text), Operation.REINDEX)


def _priority(number: int) -> str:
    """The usual ones by name."""
    return Priority(number).name.lower() if number in list(Priority) else str(number)
