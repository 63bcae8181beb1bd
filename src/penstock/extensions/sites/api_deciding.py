"""Decisions about an analysis over HTTP: other prompts, approval, another run."""

from fastapi import APIRouter, Request

from penstock.console.http.actor import Actor, Operator
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.ownership import owner_of_job
from penstock.console.http.problems import documented
from penstock.extensions.sites import deciding, views
from penstock.extensions.sites.prompt import Prompt
from penstock.extensions.sites.wire import (
    AnalysisId,
    ApproveBody,
    ApprovedBody,
    EditedBody,
    PromptBody,
    PromptsBody,
    RerunBody,
    RerunStarted,
    SiteIdPath,
)
from penstock.lifecycle import FINISHED, State

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented(409))


@router.put("/{jobId}/sites/{siteId}/prompts", operation_id="editPrompts")
async def edit_prompts(
    request: Request, actor: Operator, job_id: AnalysisId, site_id: SiteIdPath, body: PromptsBody
) -> EditedBody:
    """Takes the place of all prompts of the site. An approval that was given for others ends."""
    ground = ground_of(request)
    owner = await _owner(ground, actor, job_id)
    prompts = await deciding.edit_prompts(ground.app, job_id, site_id, body.prompts, by=actor.by, owner=owner)
    return await _edited(ground, site_id, prompts)


@router.delete("/{jobId}/sites/{siteId}/prompts", operation_id="resetPrompts")
async def reset_prompts(request: Request, actor: Operator, job_id: AnalysisId, site_id: SiteIdPath) -> EditedBody:
    """Those that were formed from the site again. An approval that was given for edited ones ends."""
    ground = ground_of(request)
    owner = await _owner(ground, actor, job_id)
    prompts = await deciding.edit_prompts(ground.app, job_id, site_id, None, by=actor.by, owner=owner)
    return await _edited(ground, site_id, prompts)


async def _edited(ground: Ground, site_id: int, prompts: list[Prompt]) -> EditedBody:
    async with ground.app.connection() as connection:
        site = await views.site(connection, site_id)
    return EditedBody(
        site_id=site_id,
        prompts=[PromptBody.model_validate(one, from_attributes=True) for one in prompts],
        counts="rerun" if site.state in FINISHED else "now",
    )


@router.post("/{jobId}/approve", operation_id="approvePrompts")
async def approve(
    request: Request, actor: Operator, job_id: AnalysisId, body: ApproveBody | None = None
) -> ApprovedBody:
    """Models may be asked: about these sites, or all whose prompts wait for it. They go on at once. `dryRun` only says
    how many they are, and what asking about them may cost."""
    ground = ground_of(request)
    owner = await _owner(ground, actor, job_id)
    chosen = None if body is None else body.site_ids
    asking = await deciding.asking(ground.app, job_id, chosen)
    approved = asking.sites
    if body is None or not body.dry_run:
        approved = await deciding.approve(ground.app, job_id, chosen, by=actor.by, owner=owner)
    return ApprovedBody(approved=approved, calls=asking.calls, most_cost=asking.most_cost)


@router.post("/{jobId}/rerun", operation_id="rerunAnalysis")
async def rerun(request: Request, actor: Operator, job_id: AnalysisId, body: RerunBody) -> RerunStarted:
    """Run sites that ended again from a stage. Results before it stay; prompts are formed again only where the site or
    the code has changed, and models are asked only what they have not answered yet."""
    ground = ground_of(request)
    owner = await _owner(ground, actor, job_id)
    started = await deciding.rerun(
        ground.app,
        job_id,
        from_stage=body.from_stage,
        site_ids=body.site_ids,
        statuses=[State[name] for name in body.statuses or ("DONE", "ERROR")],
        options=body.model_dump(include={"replay", "fresh", "budget"}),
        by=actor.by,
        owner=owner,
    )
    return RerunStarted(started=started)


async def _owner(ground: Ground, actor: Actor, job_id: int) -> str | None:
    """Of an analysis: other jobs are not there."""
    owner = await owner_of_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
    return owner
