"""`/api/tasks`: everything about one item, and why it is not running."""

from datetime import datetime
from typing import Any

import orjson
from fastapi import APIRouter
from pydantic import Field

from penstock.console.http import moves
from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import look_at_task, owner_of_task
from penstock.console.http.problems import documented
from penstock.console.http.routes.items import copy_of
from penstock.console.http.wire import ItemMoves, TaskId, Wire
from penstock.control import tasks as steering
from penstock.insight import task_views
from penstock.insight.why import explain
from penstock.lifecycle import State

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
    moves: ItemMoves
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
async def show(ground: Here, actor: Viewer, task_id: TaskId) -> Item:
    """Input, outcome, history, and the results of its finished stages."""
    await look_at_task(ground, actor, task_id)
    return _item(ground, actor, await task_views.show(ground.app, task_id))


@router.get("/{taskId}/why", operation_id="whyItem")
async def why(ground: Here, actor: Viewer, task_id: TaskId) -> Why:
    """Why it is not running, until when, and what would change that."""
    await look_at_task(ground, actor, task_id)
    async with ground.app.connection() as connection:
        found = await explain(connection, task_id)
    return Why.from_record(found, item_id=found.task_id, status=found.state.name, reason=found.reason.value)


@router.post("/{taskId}/cancel", operation_id="cancelItem")
async def cancel(ground: Here, actor: Operator, task_id: TaskId) -> Cancelled:
    """One that waits ends CANCELLED at once; one that runs is asked to stop, and is PROCESSING until it does."""
    owner = await owner_of_task(ground, actor, task_id)
    state = await steering.cancel(ground.app, task_id, by=actor.name)
    await ground.note(actor.entry("task.cancel", kind="task", object=task_id, owner=owner))
    return Cancelled(item_id=task_id, status=state.name)


def _item(ground: Ground, actor: Actor, task: task_views.TaskDetails) -> Item:
    held = task.state is State.PROCESSING
    replaced = copy_of(task.state, task.error) is not None
    return Item.from_record(
        task,
        item_id=task.task_id,
        status=task.state.name,
        moves=moves.of_item(
            actor, ground.app, task.state, pipeline=task.pipeline, job_id=task.job_id, replaced=replaced
        ),
        locked_by=task.worker if held else None,
        locked_at=task.updated_at if held else None,
        history=[Attempt.from_record(event) for event in task.history],
        checkpoints=[
            Checkpoint.from_record(one, stage=one.name, result=None if one.result is None else orjson.loads(one.result))
            for one in task.checkpoints
        ],
    )
