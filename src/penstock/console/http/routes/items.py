"""`/api/jobs/{jobId}/items` and `/api/pending`: items, page by page."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Query
from pydantic import Field

from penstock.application import Penstock
from penstock.console.http import moves
from penstock.console.http.actor import Actor, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import look_at_job, visible_tasks, whose
from penstock.console.http.parameters import After, Before, GroupId, Moment, Name, PageSize, UserId
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID, ItemMoves, JobId, QueueState, Status, Wire
from penstock.control import preferences
from penstock.insight import items as engine_items
from penstock.insight import job_views
from penstock.insight.items import Item, Sort
from penstock.insight.job_views import JobView
from penstock.lifecycle import State
from penstock.storage import items
from penstock.storage.items import EARLIEST, ItemPosition, ItemsWanted


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


router = APIRouter(prefix="/api", tags=["items"], responses=documented())
_log = structlog.get_logger("penstock.console")
_SLOW_MS = 150.0
_MOST_NOW = 200

Statuses = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern=r"^[A-Z_,]*$",
        description="Names with commas between them: PENDING, PROCESSING, DONE, ERROR, NOT_FOUND, SKIPPED, CANCELLED.",
        examples=["PENDING,PROCESSING"],
    ),
]
Cells = Annotated[bool, Query(description="Also the whole row, for the grid.")]
Since = Annotated[Moment | None, Query(description="Changed at or after this time.")]
Until = Annotated[Moment | None, Query(description="Changed before this time.")]


@router.get("/jobs/{jobId}/items", operation_id="listItems")
async def list_items(
    ground: Here,
    actor: Viewer,
    job_id: JobId,
    statuses: Statuses = None,
    page_size: PageSize = 50,
    after: After = None,
    before: Before = None,
    sort: Annotated[
        Literal["-updatedAt", "updatedAt", "row"], Query(description="`row`: as in the file; takes all statuses.")
    ] = "-updatedAt",
    since: Since = None,
    until: Until = None,
    from_row: Annotated[
        int | None,
        Query(alias="fromRow", ge=1, le=MOST_ID, description="Starts at this row of the file; with `sort=row`."),
    ] = None,
    cells: Cells = False,
    group: Annotated[GroupId | None, Query(description="Only failures of this group; a page may be short.")] = None,
) -> ItemPageBody:
    """A job's items. Pages go on where the one before ended, whatever changed meanwhile, in both directions."""
    await look_at_job(ground, actor, job_id)
    states = engine_items.states(statuses)
    if sort == "row" and (statuses or since or until or group):
        raise Problem(
            400, "`sort=row` goes through all items of the file: leave `statuses`, `since`, `until` and `group` out."
        )
    if group is not None and statuses and State.ERROR not in states:
        raise Problem(400, "`group` is for items that ended ERROR: leave `statuses` out.")
    if from_row is not None and (sort != "row" or after or before):
        raise Problem(400, "`fromRow` is for the first page of `sort=row`: leave `after` and `before` out.")
    wanted = engine_items.within(ItemsWanted(jobs=[job_id], states=states, group=group), since, until)
    query = ("items", job_id, sorted(states), sort, since, until, group)
    ends = _ends(ground, actor, query, after, before)
    if from_row is not None:
        async with ground.app.connection() as connection:
            ends = ItemPosition(EARLIEST, await engine_items.id_of_row(connection, job_id, from_row) - 1), None
    return await _page(ground, actor, wanted, query, ends, sort=sort, limit=page_size, with_cells=cells)


@router.get("/pending", operation_id="listPending")
async def list_pending(
    ground: Here,
    actor: Viewer,
    statuses: Statuses = None,
    user_id: UserId = "me",
    job_type: Annotated[Literal["csv", "xlsx", "images", "rows"] | None, Query(alias="jobType")] = None,
    job_id: Annotated[int | None, Query(alias="jobId", ge=1, le=MOST_ID)] = None,
    pipeline: Annotated[Name | None, Query()] = None,
    page_size: PageSize = 50,
    after: After = None,
    before: Before = None,
    since: Since = None,
    until: Until = None,
) -> ItemPageBody:
    """Items of all jobs, open ones unless `statuses` says otherwise. What has waited longest comes first: by the time
    of the last change, then by id."""
    async with ground.app.connection() as connection:
        flags = await preferences.flags(connection, ground.settings)
    if not flags["pendingPage"]:
        raise Problem(404, "The list over all jobs is switched off here. An admin switches it on in the settings.")
    owner = whose(actor, user_id)
    states = engine_items.states(statuses or "PENDING,PROCESSING")
    if user_id == "all":
        await ground.note_look(actor.entry("items.look_at_all", kind="item"))
    if job_id is not None:
        await look_at_job(ground, actor, job_id)
        jobs = [job_id]
    else:
        async with ground.app.connection() as connection:
            jobs = await items.jobs_with(connection, states, owner=owner, kind=job_type, pipeline=pipeline)
    wanted = engine_items.within(ItemsWanted(jobs=jobs, states=states), since, until)
    query = ("pending", user_id, job_type, job_id, pipeline, sorted(states), since, until)
    ends = _ends(ground, actor, query, after, before)
    found = await _page(ground, actor, wanted, query, ends, sort="updatedAt", limit=page_size, with_cells=False)
    return found.model_copy(update={"jobs": await _jobs(ground, found.items)})


@router.get("/items", operation_id="itemsNow")
async def items_now(
    ground: Here,
    actor: Viewer,
    ids: Annotated[
        str, Query(min_length=1, max_length=4000, pattern=r"^\d{1,18}(,\d{1,18})*$", description="Commas between them.")
    ],
    cells: Cells = False,
    jobs: Annotated[bool, Query(description="Also how far their jobs are.")] = False,
) -> ItemsNow:
    """Items that one knows already, as they are now; at most 200. What is gone, or not one's own, is left out."""
    asked = list(dict.fromkeys(int(one) for one in ids.split(",")))
    if len(asked) > _MOST_NOW:
        raise Problem(400, f"At most {_MOST_NOW} items at one time; these are {len(asked)}.")
    if actor.is_admin:
        await ground.note_look(actor.entry("items.look_at_all", kind="item"))
    async with ground.app.connection() as connection:
        visible = await visible_tasks(connection, actor, asked)
        found = await engine_items.now(connection, [one for one in asked if one in visible])
    bodies = [body_of(item, actor, ground.app, with_cells=cells) for item in found]
    return ItemsNow(items=bodies, jobs=await _jobs(ground, bodies) if jobs else [])


async def _jobs(ground: Ground, listed: Sequence[ItemBody]) -> list[ItemJob]:
    async with ground.app.connection() as connection:
        found = await job_views.these(connection, sorted({item.job_id for item in listed}))
    return [job_of(job) for job in found]


def _ends(
    ground: Ground, actor: Actor, query: tuple[object, ...], after: str | None, before: str | None
) -> tuple[ItemPosition | None, ItemPosition | None]:
    """(behind which place, before which place) the page is."""
    if after is not None and before is not None:
        raise Problem(400, "A page is `after` one cursor or `before` one, not both.")
    taken = [None if one is None else _place(ground.cursors.take(actor.name, query, one)) for one in (after, before)]
    return taken[0], taken[1]


async def _page(
    ground: Ground,
    actor: Actor,
    wanted: ItemsWanted,
    query: tuple[object, ...],
    ends: tuple[ItemPosition | None, ItemPosition | None],
    *,
    sort: Sort,
    limit: int,
    with_cells: bool,
) -> ItemPageBody:
    after, before = ends
    started = time.monotonic()
    async with ground.app.connection() as connection:
        found = await engine_items.page(connection, wanted, sort=sort, after=after, before=before, limit=limit)
    _tell(query, after or before, found.next, len(found.items), (time.monotonic() - started) * 1000)

    def cursor(place: ItemPosition | None) -> str | None:
        return None if place is None else ground.cursors.give(actor.name, query, [place.at, place.task_id])

    return ItemPageBody(
        items=[body_of(item, actor, ground.app, with_cells=with_cells) for item in found.items],
        next_cursor=cursor(found.next),
        previous_cursor=cursor(found.previous),
        start_cursor=cursor(found.first),
        end_cursor=cursor(found.last),
        jobs=[],
    )


def _tell(
    query: tuple[object, ...], start: ItemPosition | None, end: ItemPosition | None, rows: int, took_ms: float
) -> None:
    """Where a page began and ended, and how long it took: enough to repeat a slow one by hand."""
    tell = _log.warning if took_ms > _SLOW_MS else _log.debug
    tell("page", query=repr(query), after=repr(start), next=repr(end), rows=rows, ms=round(took_ms, 1))


def _place(values: list[object]) -> ItemPosition:
    at, task_id = values
    assert isinstance(at, datetime)
    assert isinstance(task_id, int)
    return ItemPosition(at, task_id)
