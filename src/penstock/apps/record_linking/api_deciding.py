"""What people decide about records, one at a time and many at once. Each is audited where it is stored."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Request

from penstock.apps.record_linking import review
from penstock.apps.record_linking.api_ground import parts, project_of
from penstock.apps.record_linking.review import Decided, DecidedMeanwhile, Seen
from penstock.apps.record_linking.shapes import bulk_body, record_body
from penstock.apps.record_linking.states import RecordState
from penstock.apps.record_linking.wire import ProjectId
from penstock.apps.record_linking.wire_records import (
    AcceptBody,
    AcceptedManyBody,
    AcceptManyBody,
    DecideBody,
    DecidedBody,
    NoteBody,
    RecordBody,
    RecordNumber,
    SeenBody,
    UndoBody,
    UndoneBody,
)
from penstock.service.actor import Operator
from penstock.service.problems import Problem, documented

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented(409))


@router.post("/{projectId}/records/{number}/accept", operation_id="acceptRecord")
async def accept(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: AcceptBody | None = None
) -> DecidedBody:
    """409 where it is being matched, or somebody else decided: `current` is what they made of it."""
    project = await project_of(request, actor, project_id)
    given = body or AcceptBody()
    with _told():
        done = await review.accept(
            parts(request),
            project.id,
            number,
            actor.by,
            entity=given.entity,
            seen=_seen(given.seen),
            note=given.note,
        )
    return _decided(done)


@router.post("/{projectId}/records/{number}/reject", operation_id="rejectRecord")
async def reject(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """None of the candidates is it."""
    project = await project_of(request, actor, project_id)
    given = body or DecideBody()
    with _told():
        done = await review.reject(
            parts(request), project.id, number, actor.by, seen=_seen(given.seen), note=given.note
        )
    return _decided(done)


@router.post("/{projectId}/records/{number}/reopen", operation_id="reopenRecord")
async def reopen(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: DecideBody | None = None
) -> DecidedBody:
    """To be reviewed again. Runs and rankings may change it from now on."""
    project = await project_of(request, actor, project_id)
    given = body or DecideBody()
    with _told():
        done = await review.reopen(
            parts(request), project.id, number, actor.by, seen=_seen(given.seen), note=given.note
        )
    return _decided(done)


@router.post("/{projectId}/records/{number}/note", operation_id="noteRecord")
async def set_note(
    request: Request, actor: Operator, project_id: ProjectId, number: RecordNumber, body: NoteBody
) -> RecordBody:
    """Goes with the record into exports."""
    project = await project_of(request, actor, project_id)
    return record_body(await review.set_note(parts(request), project.id, number, body.note, actor.by))


@router.post("/{projectId}/accept", operation_id="acceptRecords")
async def accept_many(
    request: Request, actor: Operator, project_id: ProjectId, body: AcceptManyBody
) -> AcceptedManyBody:
    """Everything that waits for review and is that sure. With `dryRun` only what it would be."""
    project = await project_of(request, actor, project_id)
    done = await review.accept_above(
        parts(request),
        project.id,
        actor.by,
        min_score=body.min_score,
        min_gap=body.min_gap,
        dry_run=body.dry_run,
    )
    return bulk_body(done, dry_run=body.dry_run)


@router.post("/{projectId}/undo", operation_id="undoDecisions")
async def undo(request: Request, actor: Operator, project_id: ProjectId, body: UndoBody) -> UndoneBody:
    """A batch, or your own last decision about one record; what somebody changed since is left."""
    project = await project_of(request, actor, project_id)
    with _told():
        done = await review.undo(parts(request), project.id, actor.by, batch=body.batch, number=body.record)
    return UndoneBody(undone=done.undone, changed_since=done.meant - done.undone)


def _seen(body: SeenBody | None) -> Seen | None:
    if body is None:
        return None
    return Seen(state=RecordState[body.state], decided_at=body.decided_at, entity=body.entity)


def _decided(done: Decided) -> DecidedBody:
    return DecidedBody(record=record_body(done.record), batch=done.batch)


@contextmanager
def _told() -> Iterator[None]:
    """The second of two reviewers gets what the first one decided."""
    try:
        yield
    except DecidedMeanwhile as error:
        current = record_body(error.record).model_dump(mode="json", by_alias=True)
        raise Problem(409, str(error), state=error.record.state.name, current=current) from None
