"""`/api/selections`: choose many items, see what an action would do to them, and have it done."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import Field

from penstock.console.grids import selection_actions, selections
from penstock.console.grids.selections import KEEP_SECONDS, MOST_KEPT, MOST_PICKED, Counted, ItemFilter
from penstock.console.http.actor import Actor, Operator
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import owner_of_job, visible_tasks, whose
from penstock.console.http.parameters import COUNTED, Flag, GroupId, Moment, Whose
from penstock.console.http.problems import Problem, documented, not_found
from penstock.console.http.wire import MOST_ID, Status, Wire
from penstock.console.storage import selections as table
from penstock.console.storage.selections import Selection
from penstock.errors import NotRepeated
from penstock.lifecycle import State

router = APIRouter(prefix="/api/selections", tags=["items"], responses=documented(409))

ItemIds = Annotated[list[Annotated[int, Field(ge=1, le=MOST_ID), COUNTED]], Field(max_length=MOST_PICKED)]
SelectionId = Annotated[int, Path(alias="selectionId", ge=1, le=MOST_ID)]


class SelectionFilter(Wire):
    """Everything that is given has to fit. Without `jobId`: of all jobs."""

    job_id: Annotated[int, Field(ge=1, le=MOST_ID), COUNTED] | None = None
    statuses: Annotated[list[Status], Field(min_length=1, max_length=7)] | None = None
    since: Moment | None = Field(None, description="Changed at or after this time.")
    until: Moment | None = Field(None, description="Changed before this time.")
    type: Literal["csv", "xlsx", "images", "rows"] | None = None
    group: GroupId | None = Field(None, description="Failures of this group; needs `jobId`.")
    user_id: Whose = Field("me", description="`all`: of all users, for admins; it is audited.")


class NewSelection(Wire):
    """`itemIds`, or `filter`: all that match it but `except`."""

    filter: SelectionFilter | None = None
    item_ids: Annotated[ItemIds, Field(min_length=1)] | None = None
    except_: ItemIds | None = Field(None, alias="except")


class SelectionBody(Wire):
    """`estimate`: there are at least `count`."""

    selection_id: int
    count: int
    estimate: bool
    expires_at: datetime


class ActionBody(Wire):
    action: Literal["reprocess", "cancel"]
    dry_run: Flag = Field(False, description="Only say what would happen.")


class StatusCount(Wire):
    status: Status
    count: int


class LeftAloneBody(StatusCount):
    reason: str


class ActionAnswer(Wire):
    """`changes`: how many would change, as they are now, by status; `estimate`: of those that were looked at. `jobId`:
    the job that does it, null of a dry run; `created` is false where the same was asked before."""

    action: Literal["reprocess", "cancel"]
    changes: int
    by_status: list[StatusCount]
    left_alone: list[LeftAloneBody]
    estimate: bool
    job_id: int | None
    created: bool


@router.post("", operation_id="createSelection", status_code=201)
async def create(ground: Here, actor: Operator, body: NewSelection) -> SelectionBody:
    """Items to do something with: some, or all that match but some. It can be used for a day."""
    if (body.item_ids is None) is (body.filter is None):
        raise Problem(400, "Send `itemIds`, or a `filter`: one of the two.")
    if body.item_ids is not None:
        picked, matching = list(dict.fromkeys(body.item_ids)), None
        if body.except_:
            raise Problem(400, "`except` goes with a `filter`.")
        counted = await _picked(ground, actor, picked)
    else:
        assert body.filter is not None
        picked, matching = None, await _matching(ground, actor, body.filter)
        async with ground.app.connection() as connection:
            counted = await selections.count(connection, matching, body.except_ or ())
    async with ground.app.connection() as connection:
        selection_id, expires_at = await table.create(
            connection,
            owner=actor.name,
            filter={} if matching is None else matching.stored(),
            picked=picked,
            left_out=sorted(set(body.except_ or ())),
            n=counted.total,
            estimate=counted.estimate,
            keep_seconds=KEEP_SECONDS,
            most=MOST_KEPT,
        )
    return SelectionBody(
        selection_id=selection_id, count=counted.total, estimate=counted.estimate, expires_at=expires_at
    )


@router.post("/{selectionId}/actions", operation_id="actOnSelection", status_code=202)
async def act(
    ground: Here, response: Response, actor: Operator, selection_id: SelectionId, body: ActionBody
) -> ActionAnswer:
    """Run its items again, or cancel them: a job of its own, done by the workers. `dryRun`: only what would happen."""
    found = await _found(ground, actor, selection_id)
    async with ground.app.connection() as connection:
        counted = await selections.count_selection(connection, found)
    outlook = selection_actions.outlook(body.action, counted)
    job_id, created = None, False
    if body.dry_run:
        response.status_code = 200
    else:
        job_id, created = await selection_actions.start(ground.app, found, body.action, by=actor.name)
        if created:
            entry = actor.entry(
                f"selection.{body.action}",
                kind="job",
                object=job_id,
                owner=found.owner,
                count=counted.total,
                selection=found.id,
                filter={name: value for name, value in found.filter.items() if value is not None} or None,
                picked=None if found.picked is None else len(found.picked),
            )
            await ground.note(entry)
    return ActionAnswer.from_record(
        outlook,
        action=body.action,
        changes=sum(outlook.changed.values()),
        by_status=[{"status": state, "count": n} for state, n in sorted(outlook.changed.items())],
        left_alone=[{"status": one.state, "count": one.n, "reason": one.why} for one in outlook.left_alone],
        job_id=job_id,
        created=created,
    )


async def _picked(ground: Ground, actor: Actor, picked: list[int]) -> Counted:
    """All of them are there and the actor's, or the first that is not is told."""
    async with ground.app.connection() as connection:
        visible = await visible_tasks(connection, actor, picked)
        standing = {one.task_id: one.status for one in await table.standing(connection, picked)}
        counted = await selections.count_these(connection, picked)
        internal = await table.internal(connection, picked)
    if strange := [one for one in picked if one not in visible or one not in standing]:
        raise not_found(f"item {strange[0]}")
    if internal:
        raise NotRepeated(f"Item {min(internal)} is a part of an action")
    return counted


async def _matching(ground: Ground, actor: Actor, asked: SelectionFilter) -> ItemFilter:
    owner = whose(actor, asked.user_id)
    if asked.group is not None and (asked.job_id is None or asked.statuses not in (None, ["ERROR"])):
        raise Problem(400, "`group` needs `jobId`, and is for items that ended ERROR.")
    if asked.job_id is not None:
        await owner_of_job(ground, actor, asked.job_id, repeated=True)
    elif asked.user_id == "all":
        await ground.note_look(actor.entry("items.look_at_all", kind="item"))
    states = tuple(State) if asked.statuses is None else tuple(State[name] for name in dict.fromkeys(asked.statuses))
    given = asked.model_dump(include={"job_id", "since", "until", "type", "group"})
    return ItemFilter(**given, states=(State.ERROR,) if asked.group is not None else states, owner=owner)


async def _found(ground: Ground, actor: Actor, selection_id: int) -> Selection:
    async with ground.app.connection() as connection:
        found = await table.get(connection, selection_id)
    if found is None or not (actor.is_admin or found.owner == actor.name):
        raise not_found(f"selection {selection_id}")
    if found.expired:
        raise Problem(409, f"Selection {selection_id} was for a day and has expired. Choose the items again.")
    if (job_id := found.filter.get("jobId")) is not None:
        await owner_of_job(ground, actor, job_id)
    elif not actor.is_admin and not await _theirs(ground, actor, found):
        raise not_found(f"selection {selection_id}")
    return found


async def _theirs(ground: Ground, actor: Actor, found: Selection) -> bool:
    """Whoever was an admin when they chose may have chosen what they must not touch by now."""
    if found.picked is None:
        return bool(found.filter["owner"] == actor.name)
    async with ground.app.connection() as connection:
        standing = [one.task_id for one in await table.standing(connection, found.picked)]
        return set(standing) <= await visible_tasks(connection, actor, standing)
