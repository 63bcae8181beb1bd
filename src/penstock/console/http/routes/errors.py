"""`/api/errors`: failures grouped by what they are, so that a thousand of one kind are one line."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.ownership import owner_of_job, whose
from penstock.console.http.parameters import UserId
from penstock.console.http.problems import documented
from penstock.console.http.wire import MOST_ID, Wire
from penstock.insight import error_groups

router = APIRouter(prefix="/api/errors", tags=["operations"], responses=documented())

_LONGEST_HOURS = 24 * 366


class ErrorGroup(Wire):
    """``message`` with ids and numbers taken out; ``where`` as in the newest of the group."""

    group_id: str = Field(description="Takes the group's dead letters out of `GET /api/dead-letters?group=…`.")
    type: str | None
    error_class: str | None = Field(description="transient, throttled, permanent or crash.")
    message: str
    example: str = Field(description="The message of the newest of the group, as it is; its first 300 characters.")
    where: str | None
    stages: list[str]
    count: int
    first_seen: datetime
    last_seen: datetime
    trend: list[int] = Field(description="How many in each of 24 equal parts of `hours`, the oldest first.")
    example_item_id: int


class ErrorGroups(Wire):
    """The newest 5,000 dead letters, at most, are grouped. ``complete`` false: there are older ones that are not
    counted here, or an owner's are too rare among everybody's newest."""

    items: list[ErrorGroup]
    failures: int
    groups_left_out: int
    complete: bool


@router.get("", operation_id="listErrors")
async def listing(
    ground: Here,
    actor: Viewer,
    job_id: Annotated[int | None, Query(alias="jobId", ge=1, le=MOST_ID, description="Only of this job.")] = None,
    hours: Annotated[float, Query(gt=0, le=_LONGEST_HOURS, description="How far back.")] = 24.0,
    user_id: UserId = "me",
) -> ErrorGroups:
    """Largest group first."""
    if job_id is not None:
        owner = await owner_of_job(ground, actor, job_id)
        if owner not in (None, actor.name):
            await ground.note_look(actor.entry("errors.look", kind="job", object=job_id, owner=owner))
        found = await error_groups.of_job(ground.app, job_id, hours=hours)
    else:
        owner = whose(actor, user_id)
        if owner is None:
            await ground.note_look(actor.entry("errors.look", kind="errors", object="all"))
        found = await error_groups.newest(ground.app, hours=hours, owner=owner)
    items = [
        ErrorGroup.from_record(one, group_id=one.id, error_class=one.kind, example_item_id=one.example_task_id)
        for one in found.groups
    ]
    return ErrorGroups.from_record(found, items=items)
