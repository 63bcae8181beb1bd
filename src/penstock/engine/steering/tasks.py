"""What people do with single tasks: cancel, and run again."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import lifecycle
from penstock.engine.definition import is_internal
from penstock.engine.steering.stages import require_stage
from penstock.errors import NotRepeated, TaskNotFound
from penstock.lifecycle import State
from penstock.storage import outcomes, queue, reads

if TYPE_CHECKING:
    from penstock.engine.app import Penstock


async def cancel(app: "Penstock", task_id: int, *, by: str) -> State:
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
    app: "Penstock", task_ids: Sequence[int], *, by: str, from_stage: str | None = None, reset_attempts: bool = True
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
        lifecycle.require(move, State[rows[task_id]["state"]], f"task {task_id}")
    for pipeline in sorted({row["pipeline"] for row in rows.values()}):
        await require_stage(connection, pipeline, from_stage)


def is_part_of_action(row: Mapping[str, Any]) -> bool:
    """By its pipeline and its job: what stores the rows of a file is Penstock's own as well, and has none."""
    return row["job_id"] is not None and is_internal(row["pipeline"])


async def tell_reprocessed(app: "Penstock", started: Sequence[int], *, by: str) -> None:
    if started:
        await app.wake_all()
        app.events.emit("tasks.reprocessed", count=len(started), tasks=list(started), by=by)


async def _state(connection: object, task_id: int) -> State:
    row = (await reads.task_rows(connection, [task_id])).get(task_id)
    if row is None:
        raise TaskNotFound(task_id)
    return State[row["state"]]
