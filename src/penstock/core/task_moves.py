"""Moves that somebody makes with single tasks: cancel, and run again."""

from collections.abc import Sequence
from typing import Any

from penstock import lifecycle
from penstock.core.app import App
from penstock.core.define import is_internal
from penstock.errors import NotKnown, NotRepeated, TaskNotFound
from penstock.lifecycle import State
from penstock.storage import outcomes, queue, reads, stages
from penstock.storage.dead_letters import DeadLetter
from penstock.storage.reads import TaskRow


async def cancel(app: App, task_id: int, *, by: str) -> State:
    """CANCELLED when it ended at once, PROCESSING when its worker was asked to stop."""
    async with app.connection() as connection:
        ended, asked = await queue.cancel(connection, task_id, by)
        if not ended and not asked:
            state = await _state(connection, task_id)
            lifecycle.require("cancel", state, f"task {task_id}")
            return state
    if asked:
        return State.PROCESSING
    app.events.emit("tasks.cancelled", count=1, tasks=[task_id], by=by)
    return State.CANCELLED


async def reprocess(
    app: App, task_ids: Sequence[int], *, by: str, from_stage: str | None = None, reset_attempts: bool = True
) -> list[int]:
    """Run finished tasks again; their outcomes go into the history.

    One that is missing or not finished is told before anything starts. Returns those that start: somebody else may
    have been quicker with the others.
    """
    async with app.connection() as connection:
        await require_all(connection, task_ids, "reprocess", from_stage=from_stage)
        started = await outcomes.reprocess(
            connection,
            task_ids,
            statuses=lifecycle.move("reprocess").origins,
            by=by,
            from_stage=from_stage,
            reset_attempts=reset_attempts,
        )
        if task_ids and not started:
            lifecycle.require("reprocess", await _state(connection, task_ids[0]), f"task {task_ids[0]}")
    await tell_reprocessed(app, started, by=by)
    return started


async def require_all(connection: object, task_ids: Sequence[int], move: str, *, from_stage: str | None = None) -> None:
    """Every task is there, no part of an action on others, and in a state that allows the move; its pipeline has the
    stage to start from."""
    rows = await reads.task_rows(connection, task_ids)
    for task_id in task_ids:
        if task_id not in rows:
            raise TaskNotFound(task_id)
        if is_part_of_action(rows[task_id]):
            raise NotRepeated(f"Task {task_id} is a part of an action")
        lifecycle.require(move, rows[task_id].state, f"task {task_id}")
    for pipeline in sorted({row.pipeline for row in rows.values()}):
        await require_stage(connection, pipeline, from_stage)


async def require_stage(connection: Any, pipeline: str, name: str | None) -> None:
    """A stage to start from has to exist; a typing mistake would run another one."""
    if name is None:
        return
    known = [row["name"] for row in await stages.listing(connection) if row["pipeline"] == pipeline]
    if name not in known:
        raise NotKnown(kind=f"stage of {pipeline!r}", name=name, known=known)


def is_part_of_action(task: TaskRow | DeadLetter) -> bool:
    """By its pipeline and its job: what stores the rows of a file is Penstock's own as well, and has none."""
    return task.job_id is not None and is_internal(task.pipeline)


async def tell_reprocessed(app: App, started: Sequence[int], *, by: str) -> None:
    if started:
        await app.wake_all()
        app.events.emit("tasks.reprocessed", count=len(started), tasks=list(started), by=by)


async def _state(connection: object, task_id: int) -> State:
    row = (await reads.task_rows(connection, [task_id])).get(task_id)
    if row is None:
        raise TaskNotFound(task_id)
    return row.state
