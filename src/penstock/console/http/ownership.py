"""Whose object it is. What belongs to somebody else is answered like what does not exist, except to admins."""

from collections.abc import Sequence
from typing import Any

from penstock.console.http.actor import Actor
from penstock.console.http.ground import Ground
from penstock.console.http.problems import Problem, not_found
from penstock.core.define import is_internal
from penstock.errors import NotRepeated
from penstock.storage import jobs, reads, tasks


async def owner_of_task(ground: Ground, actor: Actor, task_id: int) -> str | None:
    """None: it has no owner, and is the admins'."""
    async with ground.app.connection() as connection:
        found = await tasks.owner(connection, task_id)
    if found is None or not _may_see(actor, found.owner):
        raise not_found(f"task {task_id}")
    return found.owner


async def look_at_task(ground: Ground, actor: Actor, task_id: int) -> str | None:
    """The same for reads: an admin's look at somebody else's task is noted."""
    owner = await owner_of_task(ground, actor, task_id)
    if owner not in (None, actor.name):
        await ground.note_look(actor.entry("task.look", kind="task", object=task_id, owner=owner))
    return owner


async def owner_of_job(ground: Ground, actor: Actor, job_id: int, *, repeated: bool = False) -> str | None:
    """``repeated``: its items are to run again, which those of an action on other items never do."""
    async with ground.app.connection() as connection:
        row = await jobs.get(connection, job_id)
    if row is None or not _may_see(actor, row["owner"]):
        raise not_found(f"job {job_id}")
    if repeated and is_internal(row["pipeline"] or ""):
        raise NotRepeated(f"Job {job_id} is an action on other items")
    owner: str | None = row["owner"]
    return owner


async def look_at_job(ground: Ground, actor: Actor, job_id: int) -> str | None:
    owner = await owner_of_job(ground, actor, job_id)
    if owner not in (None, actor.name):
        await ground.note_look(actor.entry("job.look", kind="job", object=job_id, owner=owner))
    return owner


async def visible_tasks(connection: Any, actor: Actor, task_ids: Sequence[int]) -> set[int]:
    """Of these tasks, those whose number this actor may know."""
    if actor.is_admin or not task_ids:
        return set(task_ids)
    rows = await reads.task_rows(connection, task_ids)
    return {task_id for task_id, row in rows.items() if _may_see(actor, row.owner)}


def whose(actor: Actor, user: str) -> str | None:
    """The owner a list is narrowed to, from ``userId=me|all``; None: everybody's."""
    if user == "me":
        return actor.name
    if not actor.is_admin:
        raise Problem(403, f"Only admins see what belongs to others; {actor.name} is {actor.role}. Use `userId=me`.")
    return None


def _may_see(actor: Actor, owner: str | None) -> bool:
    return actor.is_admin or owner == actor.name
