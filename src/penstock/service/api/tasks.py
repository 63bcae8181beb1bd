"""`/api/tasks`: everything about one item, and why it is not running."""

from datetime import datetime
from typing import Any

import orjson
from fastapi import APIRouter, Request
from pydantic import Field

from penstock.engine import task_views
from penstock.engine.steering import tasks as steering
from penstock.engine.why import explain
from penstock.lifecycle import State
from penstock.service.actor import Operator, Viewer
from penstock.service.ground import ground_of
from penstock.service.ownership import look_at_task, owner_of_task
from penstock.service.problems import documented
from penstock.service.wire import TaskId, Wire

router = APIRouter(prefix="/api/tasks", tags=["items"], responses=documented(409))


class Attempt(Wire):
    """A run that did not end the item, or another event of its history."""

    at: datetime
    stage: int
    stage_name: str | None
    worker_name: str | None
    run: int
    attempt: int
    burned: bool
    cause: str
    error: Any
    next_run_at: datetime | None


class Checkpoint(Wire):
    stage: str
    run: int
    version: str | None
    result: Any
    at: datetime


class Item(Wire):
    """``attempts`` counts the burned ones of this run; ``history`` tells them all. Times are the database's."""

    item_id: int
    job_id: int | None
    owner: str | None
    pipeline: str
    stage: str
    status: str
    attempts: int
    max_attempts: int | None
    run: int
    locked_by: int | None
    worker_name: str | None = Field(description="Who runs it, or ran it last.")
    locked_at: datetime | None
    run_at: datetime | None
    created_at: datetime
    updated_at: datetime
    idempotency_key: str | None
    replaces: int | None
    input: Any
    result: Any
    error: Any
    history: list[Attempt]
    checkpoints: list[Checkpoint]


class Cancelled(Wire):
    item_id: int
    status: str


class Why(Wire):
    """``until``: when the reason ends by itself, where that is known; ``nextStep``: what a person can do."""

    item_id: int
    status: str
    reason: str
    sentence: str
    until: datetime | None
    next_step: str | None
    read_at: datetime


@router.get("/{taskId}", operation_id="getItem")
async def show(request: Request, actor: Viewer, task_id: TaskId) -> Item:
    """Input, outcome, history, and the results of its finished stages."""
    ground = ground_of(request)
    await look_at_task(ground, actor, task_id)
    return _item(await task_views.show(ground.app, task_id))


@router.get("/{taskId}/why", operation_id="whyItem")
async def why(request: Request, actor: Viewer, task_id: TaskId) -> Why:
    """Why it is not running, until when, and what would change that."""
    ground = ground_of(request)
    await look_at_task(ground, actor, task_id)
    async with ground.app.connection() as connection:
        found = await explain(connection, task_id)
    return Why(
        item_id=found.task_id,
        status=found.state.name,
        reason=found.reason.value,
        sentence=found.sentence,
        until=found.until,
        next_step=found.next_step,
        read_at=found.read_at,
    )


@router.post("/{taskId}/cancel", operation_id="cancelItem")
async def cancel(request: Request, actor: Operator, task_id: TaskId) -> Cancelled:
    """One that waits ends CANCELLED at once; one that runs is asked to stop, and is PROCESSING until it does."""
    ground = ground_of(request)
    owner = await owner_of_task(ground, actor, task_id)
    state = await steering.cancel(ground.app, task_id, by=actor.name)
    await ground.note(actor.entry("task.cancel", kind="task", object=task_id, owner=owner))
    return Cancelled(item_id=task_id, status=state.name)


def _item(task: dict[str, Any]) -> Item:
    held = task["state"] == State.PROCESSING.name
    shared = ("job_id", "owner", "pipeline", "stage", "attempts", "max_attempts", "run", "run_at", "created_at")
    more = ("updated_at", "idempotency_key", "replaces", "input", "result", "error", "worker_name")
    return Item(
        item_id=task["task_id"],
        status=task["state"],
        locked_by=task["worker"] if held else None,
        locked_at=task["updated_at"] if held else None,
        history=[Attempt(**{name: event[name] for name in Attempt.model_fields}) for event in task["history"]],
        checkpoints=[_checkpoint(one) for one in task["checkpoints"]],
        **{name: task[name] for name in (*shared, *more)},
    )


def _checkpoint(row: dict[str, Any]) -> Checkpoint:
    result = None if row["result"] is None else orjson.loads(row["result"])
    return Checkpoint(stage=row["name"], run=row["run"], version=row["version"], result=result, at=row["at"])
