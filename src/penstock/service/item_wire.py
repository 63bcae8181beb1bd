"""Items on the wire."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from penstock.engine.items import Item
from penstock.engine.job_views import JobView
from penstock.lifecycle import State
from penstock.service.job_wire import QueueState
from penstock.service.wire import Wire

Status = Literal["PENDING", "PROCESSING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]


class ItemError(Wire):
    type: str | None
    message: str | None


class ItemBody(Wire):
    """`inputSummary` instead of the whole input; `result` in the shape of the grid."""

    item_id: int
    job_id: int
    row: int | None
    status: Status
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
    looks_again_at: datetime | None = Field(
        description="It was not found at `updatedAt`, and is looked for again then."
    )
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
    state: Any = job.state.name
    return ItemJob(
        job_id=job.id,
        name=job.name,
        type=job.metadata.get("type"),
        owner=job.owner,
        queue_state=state,
        total_items=job.counts.total,
        processed_items=job.counts.finished,
        failed_items=job.counts.error,
    )


def body_of(item: Item, *, with_cells: bool) -> ItemBody:
    cells = item.input.get("cells")
    status: Any = item.status.name
    error = item.error
    return ItemBody(
        item_id=item.id,
        job_id=item.job_id,
        row=item.row,
        status=status,
        stage=item.stage,
        attempts=item.attempts,
        locked_by=item.locked_by,
        locked_at=item.locked_at,
        updated_at=item.updated_at,
        input_summary=dict(item.input_summary),
        cells=[str(cell) for cell in cells] if with_cells and isinstance(cells, list) else None,
        result=item.result,
        result_too_large=item.result_too_large,
        error=None if error is None else ItemError(type=error.get("type"), message=error.get("message")),
        why=item.why,
        looks_again_at=item.looks_again_at,
        replaced_by=_copy_of(item),
    )


def _copy_of(item: Item) -> int | None:
    error = item.error or {}
    copy = error.get("task_id") if item.status is State.SKIPPED and error.get("type") == "Replaced" else None
    return copy if isinstance(copy, int) else None
