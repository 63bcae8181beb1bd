"""`/api/projects/{projectId}/records`: the rows, what was found for them, and what was decided."""

from typing import Annotated, cast

from fastapi import APIRouter, Query, Request

from penstock.apps.record_linking import candidates, records, review
from penstock.apps.record_linking.api_ground import look_at, parts
from penstock.apps.record_linking.shapes import decision_body, record_body, record_detail
from penstock.apps.record_linking.states import RecordState
from penstock.apps.record_linking.wire import ProjectId
from penstock.apps.record_linking.wire_records import DecisionPage, RecordDetail, RecordNumber, RecordPage, State
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.parameters import After, PageSize
from penstock.service.problems import documented

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented())
Statuses = Annotated[
    list[State] | None, Query(alias="status", max_length=9, description="Only these; several may be given.")
]


@router.get("/{projectId}/records", operation_id="listRecords")
async def list_records(
    request: Request,
    actor: Viewer,
    project_id: ProjectId,
    statuses: Statuses = None,
    page_size: PageSize = 50,
    after: After = None,
) -> RecordPage:
    """In the order of the dataset."""
    ground = ground_of(request)
    project = await look_at(request, actor, project_id)
    query = ("records", project.id, sorted(statuses or []))
    place = 0 if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    states = None if statuses is None else [RecordState[one] for one in statuses]
    async with ground.app.connection() as connection:
        found = await records.page(connection, project.id, states=states, after=place, limit=page_size + 1)
    page = found[:page_size]
    last = page[-1].number if len(found) > page_size else None
    return RecordPage(
        items=[record_body(one) for one in page],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


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
