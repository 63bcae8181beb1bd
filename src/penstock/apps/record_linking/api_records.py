"""`/api/projects/{projectId}/records`: the rows, what was found for them, and what was decided."""

from collections.abc import Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Query, Request
from pydantic import Field

from penstock.apps.record_linking import candidates, records, review
from penstock.apps.record_linking.api_ground import look_at, parts
from penstock.apps.record_linking.record import Record
from penstock.apps.record_linking.shapes import decision_body, record_body, record_detail, scores_body
from penstock.apps.record_linking.states import SCORED, RecordState
from penstock.apps.record_linking.wire import ProjectId
from penstock.apps.record_linking.wire_records import (
    MOST_NUMBER,
    DecisionPage,
    RecordDetail,
    RecordNumber,
    RecordPage,
    ScoresBody,
    State,
)
from penstock.service.actor import Actor, Viewer
from penstock.service.ground import Ground, ground_of
from penstock.service.parameters import After, Before, PageSize
from penstock.service.problems import Problem, documented

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented())
Statuses = Annotated[
    list[State] | None, Query(alias="status", max_length=9, description="Only these; several may be given.")
]

FromNumber = Annotated[
    int | None, Query(alias="fromNumber", ge=1, le=MOST_NUMBER, description="Starts at this row of the dataset.")
]
Numbers = Annotated[
    list[Annotated[int, Field(ge=1, le=MOST_NUMBER)]] | None,
    Query(alias="number", max_length=200, description="Just these, whatever state they are in; several may be given."),
]
# Of each state: enough for a picture, and read within a moment.
MOST_SCORES = 20_000


@router.get("/{projectId}/records", operation_id="listRecords")
async def list_records(
    request: Request,
    actor: Viewer,
    project_id: ProjectId,
    statuses: Statuses = None,
    page_size: PageSize = 50,
    after: After = None,
    before: Before = None,
    from_number: FromNumber = None,
    numbers: Numbers = None,
) -> RecordPage:
    """In the order of the dataset, in both directions; or those that one knows already, as they are now."""
    project = await look_at(request, actor, project_id)
    if sum(one is not None for one in (after, before, from_number, numbers)) > 1:
        raise Problem(400, "Give one of `after`, `before`, `fromNumber` and `number`: each says where the page is.")
    states = None if statuses is None else [RecordState[one] for one in statuses]
    listing = _Listing(ground_of(request), actor, project.id, states)
    if numbers is not None:
        return await listing.now(numbers)
    if before is not None:
        return await listing.ending(before, page_size)
    return await listing.starting(after, from_number, page_size)


class _Listing:
    """Pages of one project's records in some states."""

    def __init__(self, ground: Ground, actor: Actor, project_id: int, states: list[RecordState] | None) -> None:
        self._ground = ground
        self._actor = actor
        self._project_id = project_id
        self._states = states
        self._query = ("records", project_id, sorted(one.name for one in states or []))

    async def now(self, numbers: Sequence[int]) -> RecordPage:
        async with self._ground.app.connection() as connection:
            found = await records.of_numbers(connection, self._project_id, numbers)
        return self._page(found, previous=False, more=False)

    async def ending(self, before: str, size: int) -> RecordPage:
        async with self._ground.app.connection() as connection:
            found = await records.page_before(
                connection, self._project_id, states=self._states, before=self._place(before), limit=size + 1
            )
        return self._page(found[-size:], previous=len(found) > size, more=True)

    async def starting(self, after: str | None, from_number: int | None, size: int) -> RecordPage:
        place = 0 if after is None else self._place(after)
        place = place if from_number is None else from_number - 1
        async with self._ground.app.connection() as connection:
            found = await records.page(connection, self._project_id, states=self._states, after=place, limit=size + 1)
            previous = after is not None
            if from_number is not None and from_number > 1:
                previous = bool(
                    await records.page_before(
                        connection, self._project_id, states=self._states, before=from_number, limit=1
                    )
                )
        return self._page(found[:size], previous=previous, more=len(found) > size)

    def _place(self, cursor: str) -> int:
        return cast("int", self._ground.cursors.take(self._actor.name, self._query, cursor)[0])

    def _cursor(self, record: Record) -> str:
        return self._ground.cursors.give(self._actor.name, self._query, [record.number])

    def _page(self, found: Sequence[Record], *, previous: bool, more: bool) -> RecordPage:
        start, end = (self._cursor(found[0]), self._cursor(found[-1])) if found else (None, None)
        return RecordPage(
            items=[record_body(one) for one in found],
            next_cursor=end if more else None,
            previous_cursor=start if previous else None,
            start_cursor=start,
            end_cursor=end,
        )


@router.get("/{projectId}/scores", operation_id="getScores")
async def scores(request: Request, actor: Viewer, project_id: ProjectId) -> ScoresBody:
    """How the scores are spread over what waits for review, is accepted, or has no candidate."""
    project = await look_at(request, actor, project_id)
    async with ground_of(request).app.connection() as connection:
        found = await records.scores(connection, project.id, SCORED, MOST_SCORES)
    return scores_body(found, parts(request).options_of(project), MOST_SCORES)


@router.get("/{projectId}/records/{number}", operation_id="getRecord")
async def get_record(request: Request, actor: Viewer, project_id: ProjectId, number: RecordNumber) -> RecordDetail:
    """With its candidates, best first, and why each has its score."""
    project = await look_at(request, actor, project_id)
    async with ground_of(request).app.connection() as connection:
        record = await records.require(connection, project.id, number)
        found = await candidates.of_record(connection, record.id)
    return record_detail(record, found)


@router.get("/{projectId}/records/{number}/history", operation_id="getRecordHistory")
async def history(
    request: Request,
    actor: Viewer,
    project_id: ProjectId,
    number: RecordNumber,
    page_size: PageSize = 50,
    after: After = None,
) -> DecisionPage:
    """Who decided what, newest first; also what was undone."""
    ground = ground_of(request)
    project = await look_at(request, actor, project_id)
    query = ("history", project.id, number)
    before = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    found = await review.history(parts(request), project.id, number, before=before, limit=page_size + 1)
    page = found[:page_size]
    last = page[-1].id if len(found) > page_size else None
    return DecisionPage(
        items=[decision_body(one) for one in page],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )
