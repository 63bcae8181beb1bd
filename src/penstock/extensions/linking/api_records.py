"""`/api/projects/{projectId}/records`: the rows, what was found for them, and what people decide about them.

Decisions are about one record or many at once. Each is audited where it is stored.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request
from pydantic import Field

from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.parameters import After, Before, PageSize
from penstock.console.http.problems import Problem, documented
from penstock.extensions.linking import candidates, records, review
from penstock.extensions.linking.api_ground import look_at, parts, project_of
from penstock.extensions.linking.decisions import Undone
from penstock.extensions.linking.project import Options
from penstock.extensions.linking.record import Record
from penstock.extensions.linking.records import SCORE_STEPS, Spread
from penstock.extensions.linking.review import DecidedMeanwhile
from penstock.extensions.linking.states import SCORED, RecordState, StateName
from penstock.extensions.linking.wire import ProjectId
from penstock.extensions.linking.wire_records import (
    MOST_NUMBER,
    AcceptBody,
    AcceptedManyBody,
    AcceptManyBody,
    DecideBody,
    DecidedBody,
    DecisionPage,
    NoteBody,
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
    return _scores_body(found, parts(request).options_of(project))


def _scores_body(found: Sequence[Spread], options: Options) -> ScoresBody:
    counts = {(one.state, one.step): one.count for one in found}
    looked = Counter[RecordState]()
    for one in found:
        looked[one.state] += one.count
    return ScoresBody(
        steps=[
            ScoreStep(
                from_score=step / SCORE_STEPS,
                to_score=(step + 1) / SCORE_STEPS,
                review=counts.get((RecordState.REVIEW, step), 0),
                accepted=counts.get((RecordState.ACCEPTED, step), 0),
                no_candidate=counts.get((RecordState.NO_CANDIDATE, step), 0),
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
    query = ("history", project.id, number)
    before = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    found = await review.history(parts(request), project.id, number, before=before, limit=page_size + 1)
    page = found[:page_size]
    last = page[-1].decision_id if len(found) > page_size else None
    return DecisionPage(
        items=page,
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


@router.post("/{projectId}/records/{number}/accept", operation_id="acceptRecord", responses=_DECIDED)
async def accept(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: AcceptBody | None = None
) -> DecidedBody:
    """409 where it is being matched, or somebody else decided: `current` is what they made of it."""
    project = await project_of(request, actor, project_id)
    entity = None if body is None else body.entity
    with _told():
        done = await review.accept(parts(request), project.id, number, actor.by, entity=entity, **_seen_and_note(body))
    return DecidedBody.model_validate(done)


@router.post("/{projectId}/records/{number}/reject", operation_id="rejectRecord", responses=_DECIDED)
async def reject(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """None of the candidates is it."""
    project = await project_of(request, actor, project_id)
    with _told():
        done = await review.reject(parts(request), project.id, number, actor.by, **_seen_and_note(body))
    return DecidedBody.model_validate(done)


@router.post("/{projectId}/records/{number}/reopen", operation_id="reopenRecord", responses=_DECIDED)
async def reopen(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """To be reviewed again. Runs and rankings may change it from now on."""
    project = await project_of(request, actor, project_id)
    with _told():
        done = await review.reopen(parts(request), project.id, number, actor.by, **_seen_and_note(body))
    return DecidedBody.model_validate(done)


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


def _seen_and_note(body: DecideBody | None) -> dict[str, Any]:
    given = body or DecideBody()
    return {"seen": None if given.seen is None else given.seen.seen(), "note": given.note}


@contextmanager
def _told() -> Iterator[None]:
    """The second of two reviewers gets what the first one decided."""
    try:
        yield
    except DecidedMeanwhile as error:
        current = RecordBody.model_validate(error.record).model_dump(mode="json", by_alias=True)
        raise Problem(409, str(error), state=error.record.state.name, current=current) from None
