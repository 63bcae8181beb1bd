"""`/api/projects/{projectId}/records`: the rows, what was found for them, what people decide about them; their export.

Decisions are about one record or many at once. Each is audited where it is stored.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from penstock.console.files.export.file_name import disposition, file_name
from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.attachment import Attachment
from penstock.console.http.ground import ground_of
from penstock.console.http.parameters import After, Before, PageSize
from penstock.console.http.problems import Problem, documented
from penstock.extensions.linking import candidates, exporting, records, review
from penstock.extensions.linking.api_ground import look_at, note, parts, project_of
from penstock.extensions.linking.decisions import Undone
from penstock.extensions.linking.record import SCORED, RecordState, StateName
from penstock.extensions.linking.records import SCORE_STEPS
from penstock.extensions.linking.review import DecidedMeanwhile, Move
from penstock.extensions.linking.wire import (
    MOST_NUMBER,
    AcceptBody,
    AcceptedManyBody,
    AcceptManyBody,
    DecideBody,
    DecidedBody,
    DecisionPage,
    NoteBody,
    ProjectId,
    RecordBody,
    RecordDetail,
    RecordNumber,
    RecordPage,
    ScoresBody,
    ScoreStep,
    UndoBody,
    record_detail,
)

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented())
_DECIDED = documented(409)
Statuses = Annotated[
    list[StateName] | None, Query(alias="status", max_length=9, description="Only these; several may be given.")
]

FromNumber = Annotated[
    int | None, Query(alias="fromNumber", ge=1, le=MOST_NUMBER, description="Starts at this row of the dataset.")
]
Numbers = Annotated[
    list[Annotated[int, Field(ge=1, le=MOST_NUMBER)]] | None,
    Query(alias="number", max_length=200, description="Just these, whatever state they are in; several may be given."),
]
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment. `X-Penstock-Manifest`: how many cells the sheet `Manifest` names.",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in MEDIA_TYPES.values()},
    }
}
Form = Annotated[
    Literal["exact", "safe"],
    Query(description="CSV: `safe` puts an apostrophe before cells that a spreadsheet would run as formulas."),
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
    listed = ground_of(request).listing(actor.name, "records", project.id, sorted(one.name for one in states or []))
    previous, more = after is not None, before is not None
    async with ground_of(request).app.connection() as connection:
        if numbers is not None:
            found = await records.of_numbers(connection, project.id, numbers)
        elif before is not None:
            number = listed.behind(before)
            found = await records.page_before(connection, project.id, states=states, before=number, limit=page_size + 1)
            previous, found = len(found) > page_size, found[-page_size:]
        else:
            number = listed.behind(after, 0) if from_number is None else from_number - 1
            found = await records.page(connection, project.id, states=states, after=number, limit=page_size + 1)
            more, found = len(found) > page_size, found[:page_size]
            if from_number is not None and from_number > 1:
                previous = bool(
                    await records.page_before(connection, project.id, states=states, before=from_number, limit=1)
                )
    start, end = (listed.cursor(found[0].number), listed.cursor(found[-1].number)) if found else (None, None)
    return RecordPage(
        items=[RecordBody.model_validate(one) for one in found],
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
    options = parts(request).options_of(project)
    counts = {(one.state, one.step): one.count for one in found}
    looked = Counter[RecordState]()
    for one in found:
        looked[one.state] += one.count
    return ScoresBody(
        steps=[
            ScoreStep(
                from_score=step / SCORE_STEPS,
                to_score=(step + 1) / SCORE_STEPS,
                **{state.name.lower(): counts.get((state, step), 0) for state in SCORED},
            )
            for step in range(SCORE_STEPS)
        ],
        looked_at=looked.total(),
        complete=all(count < MOST_SCORES for count in looked.values()),
        accept_score=options.accept_score,
        accept_gap=options.accept_gap,
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
    listed = ground.listing(actor.name, "history", project.id, number)
    found = await review.history(parts(request), project.id, number, before=listed.behind(after), limit=page_size + 1)
    shown, following = listed.page(found, page_size, lambda one: one.decision_id)
    return DecisionPage(items=list(shown), next_cursor=following)


@router.post("/{projectId}/records/{number}/accept", operation_id="acceptRecord", responses=_DECIDED)
async def accept(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: AcceptBody | None = None
) -> DecidedBody:
    """409 where it is being matched, or somebody else decided: `current` is what they made of it."""
    return await _decided(request, actor, project_id, number, "accept", body, None if body is None else body.entity)


@router.post("/{projectId}/records/{number}/reject", operation_id="rejectRecord", responses=_DECIDED)
async def reject(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """None of the candidates is it."""
    return await _decided(request, actor, project_id, number, "reject", body)


@router.post("/{projectId}/records/{number}/reopen", operation_id="reopenRecord", responses=_DECIDED)
async def reopen(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """To be reviewed again. Runs and rankings may change it from now on."""
    return await _decided(request, actor, project_id, number, "reopen", body)


@router.post("/{projectId}/records/{number}/note", operation_id="noteRecord", responses=_DECIDED)
async def set_note(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: NoteBody
) -> RecordBody:
    """Goes with the record into exports."""
    project = await project_of(request, actor, project_id)
    noted = await review.set_note(parts(request), project.id, number, body.note, actor.by)
    return RecordBody.model_validate(noted)


@router.post("/{projectId}/accept", operation_id="acceptRecords", responses=_DECIDED)
async def accept_many(
    request: Request, actor: Operator, project_id: ProjectId, body: AcceptManyBody
) -> AcceptedManyBody:
    """Everything that waits for review and is that sure. With `dryRun` only what it would be."""
    project = await project_of(request, actor, project_id)
    done = await review.accept_above(parts(request), project.id, actor.by, **body.model_dump())
    return AcceptedManyBody.model_validate(done)


@router.post("/{projectId}/undo", operation_id="undoDecisions", responses=_DECIDED)
async def undo(request: Request, actor: Operator, project_id: ProjectId, body: UndoBody) -> Undone:
    """A batch, or your own last decision about one record; what somebody changed since is left."""
    project = await project_of(request, actor, project_id)
    with _told():
        return await review.undo(parts(request), project.id, actor.by, batch=body.batch, number=body.record)


@router.post("/{projectId}/export", operation_id="exportProject", responses=_FILE, response_class=StreamingResponse)
async def export(
    request: Request,
    actor: Viewer,
    project_id: ProjectId,
    format: Annotated[Literal["csv", "xlsx", "json"], Query(description="What to write.")] = "csv",
    form: Form = "exact",
    bom: Annotated[bool, Query(description="CSV: begin with a byte order mark, as some spreadsheets want it.")] = False,
) -> StreamingResponse:
    """The columns as they came in, then `match_state`, `match_id`, `match_label`, `match_score`, `match_gap`,
    `decided_by`, `decided_at`, `note`; in the order of the rows."""
    project = await project_of(request, actor, project_id)
    await note(request, actor, project, "export", format=format, form=form)
    headers = {"Content-Disposition": disposition(file_name(project.id, {"name": project.name}, format))}
    held = AsyncExitStack()
    made = exporting.export(parts(request), project, exporting.FileFormat(format), safe=form == "safe", mark=bom)
    async with request.app.state.linking_xlsx_turns if format == "xlsx" else nullcontext():
        file = await held.enter_async_context(made)
    if file.size_bytes is not None:
        headers |= {"X-Penstock-Manifest": str(file.manifest), "Content-Length": str(file.size_bytes)}
    return Attachment(file.chunks, held, headers, MEDIA_TYPES[format])


async def _decided(
    request: Request,
    actor: Actor,
    project_id: int,
    number: int,
    move: Move,
    body: DecideBody | None,
    entity: str | None = None,
) -> DecidedBody:
    project = await project_of(request, actor, project_id)
    given = body or DecideBody()
    seen = None if given.seen is None else given.seen.seen()
    with _told():
        done = await review.decide(
            parts(request), project.id, number, move, actor.by, entity=entity, seen=seen, note=given.note
        )
    return DecidedBody.model_validate(done)


@contextmanager
def _told() -> Iterator[None]:
    """The second of two reviewers gets what the first one decided."""
    try:
        yield
    except DecidedMeanwhile as error:
        current = RecordBody.model_validate(error.record).model_dump(mode="json", by_alias=True)
        raise Problem(409, str(error), state=error.record.state.name, current=current) from None
