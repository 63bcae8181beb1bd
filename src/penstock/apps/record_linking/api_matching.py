"""`/api/projects/{projectId}/match`, `/cancel`, `/rerank`: start and stop what works on the records."""

from fastapi import APIRouter, Request

from penstock.apps.record_linking import matching, ranking
from penstock.apps.record_linking.api_ground import note, parts, project_of, source_ready
from penstock.apps.record_linking.wire import CancelledBody, MatchBody, ProjectId, RerankBody, RerankedBody, StartedBody
from penstock.intake.room import require_room
from penstock.service.actor import Operator
from penstock.service.ground import ground_of
from penstock.service.problems import documented

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented(409))


@router.post("/{projectId}/match", operation_id="matchProject", status_code=202, responses=documented(409, 429))
async def match(request: Request, actor: Operator, project_id: ProjectId, body: MatchBody | None = None) -> StartedBody:
    """One search per distinct name, in a job of its own. 409 while a run is under way, or where the source cannot be
    asked yet."""
    found = await project_of(request, actor, project_id)
    await require_room(ground_of(request).app, found.owner)
    scope = (body or MatchBody()).scope
    with source_ready():
        started = await matching.start(parts(request), found.id, scope, by=actor.name)
    await note(request, actor, found, "match", scope=scope, records=started.records)
    return StartedBody(job_id=started.job_id, records=started.records, queries=started.queries)


@router.post("/{projectId}/cancel", operation_id="cancelProject")
async def cancel(request: Request, actor: Operator, project_id: ProjectId) -> CancelledBody:
    """Records that have not ended are CANCELLED; the next match takes them again. Without a run nothing happens."""
    found = await project_of(request, actor, project_id)
    count = await matching.cancel(parts(request), found.id, by=actor.name)
    await note(request, actor, found, "cancel", records=count)
    return CancelledBody(cancelled=count)


@router.post("/{projectId}/rerank", operation_id="rerankProject", status_code=202)
async def rerank(
    request: Request, actor: Operator, project_id: ProjectId, body: RerankBody | None = None
) -> RerankedBody:
    """All that no person decided, scored again from what the source answered before. Asks the source nothing."""
    found = await project_of(request, actor, project_id)
    options = {} if body is None else body.chosen()
    done = await ranking.rerank(parts(request), found.id, by=actor.name, options=options or None)
    await note(request, actor, found, "rerank", records=done.records, options=options)
    return RerankedBody(job_id=done.job_id, records=done.records, left=done.left, notice=done.notice)
