"""Embedding tasks as people see them, and where an article stands with its own. One function per query of
``sql/embedding_tasks.sql``, or per choice of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from penstock.extensions.articles.articles import Operation, Summary
from penstock.extensions.articles.errors import Category, category_of_stored, chosen
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.shared import WireRecord
from penstock.lifecycle import State
from penstock.model import Priority
from penstock.storage.queries import load

_sql = load("embedding_tasks", "penstock.extensions.articles")
Connection = Any
_NEWEST = 2**63 - 1
_MOST = 1001


Chip = Literal["indexed", "stale", "waiting", "failed", "missing"]
Status = Literal["pending", "processing", "completed", "failed", "cancelled", "none"]
_WORDS: dict[State | None, Status] = {
    None: "none",
    State.PENDING: "pending",
    State.PROCESSING: "processing",
    State.DONE: "completed",
    State.ERROR: "failed",
    State.NOT_FOUND: "completed",  # the article was gone
    State.SKIPPED: "completed",  # a newer text has a task of its own
    State.CANCELLED: "cancelled",
}


class TaskStatus(StrEnum):
    """The engine's states in the words of an embedding: what was skipped is completed, too."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_DIRECT = {
    TaskStatus.PENDING: _sql.pending,
    TaskStatus.PROCESSING: _sql.processing,
    TaskStatus.FAILED: _sql.failed,
}
_AS_STORED = ("task_id", "slug", "generation", "owner", "attempts", "max_attempts", "created_at", "ended_at")
_ENDINGS = {TaskStatus.COMPLETED: [2, 4, 5], TaskStatus.CANCELLED: [6]}
_ADVICE = {
    Category.TRANSIENT: "It is tried again by itself; after the last try `penstock articles retry-failed` does it.",
    Category.CONFIGURATION: "Change what the error names, then `penstock articles retry-failed`.",
    Category.DATA: "The text itself is refused: edit the article; saving it queues a new embedding.",
    Category.RESOURCE: "Free memory, disk or quota, then `penstock articles retry-failed --category resource`.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTask(WireRecord):
    """`slug` and `generation` are null once they are gone. `skipped`: completed without an embedding, such as one that
    a newer revision made needless. `nextRunAt`: of one that waits. `advice`: what a person can do about the error."""

    task_id: int
    article_id: Annotated[int, Field(exclude=True)]
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
    result: dict[str, Any] | None


async def page(
    connection: Connection, *, owner: str | None, status: str | None = None, after: int | None = None, limit: int = 50
) -> list[EmbeddingTask]:
    """Newest first. ``owner`` None: everybody's; ``after``: the task that the page before ended with."""
    place, most = _NEWEST if after is None else after, min(max(limit, 1), _MOST)
    if status is None:
        rows = await connection.fetch(_sql.newest, place, owner, most, PIPELINE)
    elif (wanted := chosen(TaskStatus, "status", status)) in _DIRECT:
        rows = await connection.fetch(_DIRECT[wanted], place, owner, most, PIPELINE)
    else:
        rows = await connection.fetch(_sql.ended, place, owner, most, PIPELINE, _ENDINGS[wanted])
    found = await of_ids(connection, [row["id"] for row in rows])
    return [found[row["id"]] for row in rows if row["id"] in found]


async def one(connection: Connection, task_id: int) -> EmbeddingTask | None:
    """None also for a task of something else."""
    return (await of_ids(connection, [task_id])).get(task_id)


async def of_ids(connection: Connection, task_ids: Sequence[int]) -> dict[int, EmbeddingTask]:
    """Those that still exist: completed ones are cleared after a time."""
    rows = await connection.fetch(_sql.rows, task_ids, PIPELINE)
    return {row["task_id"]: _task(row) for row in rows}


def _task(row: Mapping[str, Any]) -> EmbeddingTask:
    given = orjson.loads(row["input"])
    status = TaskStatus(_WORDS[State(row["state"])])
    told = None if row["error"] is None else orjson.loads(row["error"])
    # The engine keeps why something was skipped or cancelled where it keeps errors.
    trouble = told if status not in (TaskStatus.COMPLETED, TaskStatus.CANCELLED) else None
    category = None if trouble is None else category_of_stored(trouble)
    # What the embedding returned, or why there was none.
    result = None if row["result"] is None else orjson.loads(row["result"])
    if not isinstance(result, dict):
        result = {"reason": told.get("message")} if told is not None and trouble is None else None
    began = None if result is None else result.get("started_at")
    ended_start = datetime.fromisoformat(began) if isinstance(began, str) else None
    number = row["priority"]
    return EmbeddingTask(
        **{name: row[name] for name in _AS_STORED},
        article_id=given.get("article", 0),
        revision=given.get("revision"),
        # A task that somebody made by hand may say anything, and is shown all the same.
        operation=next((one for one in Operation if one.value == given.get("operation")), Operation.REINDEX),
        priority=Priority(number).name.lower() if number in list(Priority) else str(number),
        status=status,
        skipped=row["state"] == State.SKIPPED,
        started_at=row["updated_at"] if status is TaskStatus.PROCESSING else ended_start,
        next_run_at=row["run_at"] if status is TaskStatus.PENDING else None,
        error=None if trouble is None else trouble.get("message"),
        category=category,
        advice=None if category is None else _ADVICE[category],
        result=result,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus(WireRecord):
    """`chip`: what a search finds. `indexed`: this text; `stale`: an older one; `waiting`, `failed` and `missing`:
    only its words, as the task is under way, ended badly or does not exist. `status` and what follows: of the newest
    task; shown to the owner and to admins."""

    chip: Chip
    status: Status
    task_id: int | None
    attempts: int
    max_attempts: int
    error: str | None
    category: str | None
    indexed_revision: int | None
    embedded_at: datetime | None
    next_run_at: datetime | None

    def without_task(self) -> "EmbeddingStatus":
        """For a reader of a shared article: whether it is found, not what its owner's tasks did."""
        return replace(self, task_id=None, error=None, category=None)


async def embedding_statuses(
    connection: Connection, summaries: Sequence[Summary], generation: Generation
) -> dict[int, EmbeddingStatus]:
    """By article."""
    if not summaries:
        return {}
    ids, tasks = [one.id for one in summaries], [one.task_id for one in summaries]
    rows = {row["article_id"]: row for row in await connection.fetch(_sql.of_articles, ids, tasks, generation.id)}
    return {one.id: _embedding_status(one, rows[one.id]) for one in summaries}


def _embedding_status(article: Summary, row: Mapping[str, Any]) -> EmbeddingStatus:
    state = None if row["status"] is None else State(row["status"])
    stored = orjson.loads(row["error"]) if row["error"] else None
    return EmbeddingStatus(
        chip=_chip(article.revision, row["indexed_revision"], state),
        status=_WORDS[state],
        task_id=article.task_id,
        error=None if stored is None else str(stored.get("message") or stored.get("type") or "unknown"),
        category=None if stored is None else category_of_stored(stored).value,
        **{name: row[name] for name in ("attempts", "max_attempts", "indexed_revision", "embedded_at", "next_run_at")},
    )


def _chip(revision: int, indexed: int | None, state: State | None) -> Chip:
    if indexed is not None:
        return "indexed" if indexed >= revision else "stale"
    if state is not None and not state.finished:
        return "waiting"
    return "failed" if state is State.ERROR else "missing"
