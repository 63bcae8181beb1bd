"""Items on the wire."""

from datetime import datetime
from typing import Any

from pydantic import Field

from penstock.application import Penstock
from penstock.console.http import moves
from penstock.console.http.actor import Actor
from penstock.console.http.wire import ItemMoves, QueueState, Status, Wire
from penstock.insight.items import Item
from penstock.insight.job_views import JobView
from penstock.lifecycle import State


class ItemError(Wire):
    type: str | None
    message: str | None


class ItemBody(Wire):
    """`inputSummary` instead of the whole input; `result` in the shape of the grid."""

    item_id: int
    job_id: int
    row: int | None
    status: Status
    moves: ItemMoves
    stage: str | None
    attempts: int
    locked_by: str | None
    locked_at: datetime | None
    updated_at: datetime
    input_summary: dict[str, str]
    cells: list[str] | None = None
    result: Any
    result_too_large: bool
    error: ItemError | None
    why: str | None
    looks_again_at: datetime | None = Field(description="It was not found at `updatedAt`, and is retried then.")
    replaced_by: int | None = Field(description="The edited copy that stands in its place.")


class ItemJob(Wire):
    """Of an item in a list over many jobs: what it is part of, and how far that is."""

    job_id: int
    name: str | None
    type: str | None
    owner: str | None
    queue_state: QueueState
    total_items: int
    processed_items: int
    failed_items: int


class ItemPageBody(Wire):
    """`startCursor` and `endCursor` are at its ends, for `before` and `after`; null only of an empty page. Those of the
    neighbours are null where there was nothing more that way."""

    items: list[ItemBody]
    next_cursor: str | None
    previous_cursor: str | None
    start_cursor: str | None
    end_cursor: str | None
    jobs: list[ItemJob] = Field(description="Those of the items, in a list over many jobs.")


class ItemsNow(Wire):
    items: list[ItemBody]
    jobs: list[ItemJob]


def job_of(job: JobView) -> ItemJob:
    return ItemJob.from_record(
        job,
        job_id=job.id,
        type=job.metadata.get("type"),
        queue_state=job.state,
        total_items=job.counts.total,
        processed_items=job.counts.finished,
        failed_items=job.counts.error,
    )


def body_of(item: Item, actor: Actor, app: Penstock, *, with_cells: bool) -> ItemBody:
    cells = item.input.get("cells")
    copy = copy_of(item.status, item.error)
    may = moves.of_item(actor, app, item.status, pipeline=item.pipeline, job_id=item.job_id, replaced=copy is not None)
    return ItemBody.from_record(
        item,
        item_id=item.id,
        moves=may,
        cells=[str(cell) for cell in cells] if with_cells and isinstance(cells, list) else None,
        error=None if item.error is None else {name: item.error.get(name) for name in ("type", "message")},
        replaced_by=copy,
    )


def copy_of(state: State, error: Any) -> int | None:
    """The edited copy that runs in its place."""
    told = error if state is State.SKIPPED and isinstance(error, dict) and error.get("type") == "Replaced" else {}
    copy = told.get("task_id")
    return copy if isinstance(copy, int) else None
