"""Jobs on the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from penstock.console.http import moves
from penstock.console.http.actor import Actor
from penstock.console.http.wire import JobMoves, QueueState, Wire
from penstock.console.storage.files import File
from penstock.insight.job_views import JobView
from penstock.insight.waiting import Cause
from penstock.storage.imports import Import


class Counts(Wire):
    """Exact when read; they sum to `totalItems`."""

    pending: int
    processing: int
    done: int
    error: int
    not_found: int
    skipped: int
    cancelled: int


class ImportProblem(Wire):
    detail: str
    row: int | None = None
    column: str | None = None
    rows_stored: int | None = None


class ImportState(Wire):
    """How far the file is stored as rows. `batchReason` says why batches have their size now."""

    state: Literal["waiting", "storing", "stored", "failed", "cancelled"]
    rows_stored: int
    bytes_read: int
    size_bytes: int | None
    batch_rows: int | None
    batch_reason: str | None
    problem: ImportProblem | None


class JobBody(Wire):
    job_id: int
    name: str | None
    pipeline: str
    type: str | None = Field(description="csv, xlsx, images, rows; null for jobs that were not sent to the service.")
    owner: str | None
    created_at: datetime
    queue_state: QueueState
    moves: JobMoves
    counts: Counts
    total_items: int
    processed_items: int
    failed_items: int
    columns: list[str]
    result_columns: list[str]
    file_name: str | None
    import_: ImportState | None = Field(alias="import")
    per_second: float | None = Field(description="Endings of the last minute; null where it is not moving.")
    eta_seconds: float | None = Field(description="At that rate; null where nothing moves or nothing is left.")
    eta_cause: str | None = Field(
        description="What holds it up: a pause, a stage without a worker, a limit, busy processors; null: not known."
    )


class JobFile(Wire):
    """What it was made from. `sha256` in hexadecimal digits."""

    name: str
    media_type: str
    size_bytes: int | None
    sha256: str | None
    stored_at: datetime | None


class JobStep(Wire):
    """`done`: moved on, or ended in this stage without a failure. The five sum to what has reached the stage."""

    stage: str
    waiting: int
    running: int
    done: int
    failed: int
    cancelled: int


class JobCallback(Wire):
    """What is enqueued once when every item has ended. `problem`: why it could not be."""

    pipeline: str
    task_id: int | None
    called_back_at: datetime | None
    problem: str | None


class JobDetail(JobBody):
    current_step: str = Field(
        description="not-started, the earliest stage that still holds items, completed, failed or cancelled."
    )
    progress: float = Field(ge=0, le=1, description="The share of all stages of all items that is behind them.")
    steps: list[JobStep] = Field(description="In the order of the pipeline.")
    next_due_at: datetime | None = Field(
        description="Nothing of it can run before; null: something can, or nothing waits."
    )
    last_heartbeat: datetime | None
    last_error: str | None
    paused_by: str | None
    pause_reason: str | None
    callback: JobCallback | None
    options: dict[str, Any]
    file: JobFile | None
    priority: int | None = Field(description="-100 is served first, 100 last; null before its first item.")
    cancelled_by: str | None
    retention_days: float | None = Field(description="Items that have ended are kept this long. Null: for ever.")


def import_of(found: Import | None) -> ImportState | None:
    if found is None:
        return None
    return ImportState.from_record(
        found,
        state="cancelled" if found.cancelled and found.open else found.state,
        bytes_read=min(found.bytes_read, found.size_bytes or found.bytes_read),
        batch_reason=found.batch_why,
    )


def file_of(found: File | None) -> JobFile | None:
    if found is None:
        return None
    return JobFile.from_record(found, sha256=None if found.sha256 is None else found.sha256.hex())


def body_of(job: JobView, actor: Actor, found: Import | None, cause: Cause | None) -> JobBody:
    return JobBody.from_record(job, **fields_of(job, actor, found, cause))


def fields_of(job: JobView, actor: Actor, found: Import | None, cause: Cause | None) -> dict[str, Any]:
    """What the list and the detail share, and a job is not asked for by that name."""
    metadata: Mapping[str, Any] = job.metadata
    return {
        "job_id": job.id,
        "type": metadata.get("type"),
        "queue_state": job.state,
        "moves": moves.of_job(actor, job.state, pipeline=job.pipeline),
        "total_items": job.counts.total,
        "processed_items": job.counts.finished,
        "failed_items": job.counts.error,
        "columns": list(metadata.get("columns", ())),
        "result_columns": list(metadata.get("result_columns", ())),
        "file_name": metadata.get("file_name"),
        "import_": import_of(found),
        "eta_seconds": None if cause is not None and cause.stops else job.eta_seconds,
        "eta_cause": None if cause is None else cause.sentence,
    }
