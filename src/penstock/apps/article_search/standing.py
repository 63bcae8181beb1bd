"""Whether an article is found by its meaning, and what its embedding is doing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from penstock.apps.article_search.article import Summary
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.trouble import category_of_stored
from penstock.lifecycle import State
from penstock.storage.queries import load

_sql = load("standing", "penstock.apps.article_search")
Connection = Any

Chip = Literal["indexed", "stale", "waiting", "failed", "missing"]
Status = Literal["pending", "processing", "completed", "failed", "cancelled", "none"]
_STATUS: dict[State | None, Status] = {
    None: "none",
    State.PENDING: "pending",
    State.PROCESSING: "processing",
    State.DONE: "completed",
    State.ERROR: "failed",
    State.NOT_FOUND: "completed",  # the article was gone
    State.SKIPPED: "completed",  # a newer text has a task of its own
    State.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``chip``: what a search finds; ``status`` and what follows: of the task of the current text, ``none`` where it
    has none or it has been cleared. ``error``: of its end, or of the run that is tried again."""

    chip: Chip
    status: Status
    task_id: int | None = None
    attempts: int = 0
    max_attempts: int = 0
    error: str | None = None
    category: str | None = None
    indexed_revision: int | None = None
    embedded_at: datetime | None = None
    next_run_at: datetime | None = None


async def standings(
    connection: Connection, summaries: Sequence[Summary], generation: Generation
) -> dict[int, Standing]:
    """By article."""
    if not summaries:
        return {}
    ids, tasks = [one.id for one in summaries], [one.task_id for one in summaries]
    rows = {row["article_id"]: row for row in await connection.fetch(_sql.of_articles, ids, tasks, generation.id)}
    return {one.id: _standing(one, rows[one.id]) for one in summaries}


def _standing(article: Summary, row: Mapping[str, Any]) -> Standing:
    state = None if row["status"] is None else State(row["status"])
    stored = json.loads(row["error"]) if row["error"] else None
    return Standing(
        chip=_chip(article.revision, row["indexed_revision"], state),
        status=_STATUS[state],
        task_id=article.task_id,
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        error=None if stored is None else str(stored.get("message") or stored.get("type") or "unknown"),
        category=None if stored is None else category_of_stored(stored).value,
        indexed_revision=row["indexed_revision"],
        embedded_at=row["embedded_at"],
        next_run_at=row["next_run_at"],
    )


def _chip(revision: int, indexed: int | None, state: State | None) -> Chip:
    if indexed is not None:
        return "indexed" if indexed >= revision else "stale"
    if state is not None and not state.finished:
        return "waiting"
    return "failed" if state is State.ERROR else "missing"
