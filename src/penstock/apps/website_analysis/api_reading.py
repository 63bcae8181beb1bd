"""`GET /api/analyses…`: look at analyses and their sites."""

from dataclasses import asdict
from typing import Any, cast

from fastapi import APIRouter, Request

from penstock.apps.website_analysis import budgets, views
from penstock.apps.website_analysis.deciding import require_sites
from penstock.apps.website_analysis.shapes import analysis_fields, findings, site_body
from penstock.apps.website_analysis.wire import (
    AnalysisBody,
    AnalysisDetail,
    AnalysisId,
    AnalysisPage,
    BudgetBody,
    SiteDetail,
    SiteIdPath,
    SitePageBody,
)
from penstock.service.actor import Actor, Viewer
from penstock.service.ground import Ground, ground_of
from penstock.service.job_wire import JobStep
from penstock.service.ownership import look_at_job, whose
from penstock.service.parameters import After, PageSize, UserId
from penstock.service.problems import documented

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented())
_FIRST_PAGE = 50


@router.get("", operation_id="listAnalyses")
async def list_analyses(
    request: Request, actor: Viewer, page_size: PageSize = 50, after: After = None, user_id: UserId = "me"
) -> AnalysisPage:
    """Newest first. A page may be short, or empty, and have a next one: it looks at a bounded number of jobs."""
    ground = ground_of(request)
    owner = whose(actor, user_id)
    query = ("analyses", user_id)
    before = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    async with ground.app.connection() as connection:
        found, last = await views.analyses(connection, owner=owner, before=before, limit=page_size)
    if user_id == "all":
        await ground.note_look(actor.entry("analyses.look_at_all", kind="job"))
    return AnalysisPage(
        items=[AnalysisBody(**analysis_fields(view)) for view in found],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


@router.get("/{jobId}", operation_id="getAnalysis")
async def get_analysis(request: Request, actor: Viewer, job_id: AnalysisId) -> AnalysisDetail:
    """Where it stands, and its first sites; of one site everything."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        view = await views.analysis(connection, job_id)
        budget = await budgets.standing(connection, job_id)
        page = await views.site_page(connection, job_id, after=None, limit=_FIRST_PAGE)
        alone = len(page.sites) == 1 and page.next is None
        found = await views.details(connection, page.sites[0].site_id) if alone else None
    return AnalysisDetail(
        **analysis_fields(view),
        steps=[JobStep(**asdict(one)) for one in view.steps],
        budget=None if budget is None else BudgetBody(**asdict(budget)),
        sites=[site_body(one) for one in page.sites],
        next_cursor=_cursor(ground, actor, job_id, page.next),
        **({} if found is None else findings(found)),
    )


@router.get("/{jobId}/sites", operation_id="listSites")
async def list_sites(
    request: Request, actor: Viewer, job_id: AnalysisId, page_size: PageSize = 50, after: After = None
) -> SitePageBody:
    """In the order in which they were given."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    place = None if after is None else cast("int", ground.cursors.take(actor.name, _query(job_id), after)[0])
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        page = await views.site_page(connection, job_id, after=place, limit=page_size)
    return SitePageBody(
        items=[site_body(one) for one in page.sites], next_cursor=_cursor(ground, actor, job_id, page.next)
    )


@router.get("/{jobId}/sites/{siteId}", operation_id="getSite")
async def get_site(request: Request, actor: Viewer, job_id: AnalysisId, site_id: SiteIdPath) -> SiteDetail:
    """Its stages with version and run, facts, prompts, answers and scores."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        await require_sites(connection, job_id, [site_id])
        found = await views.details(connection, site_id)
    shown: dict[str, Any] = site_body(found.site).model_dump(exclude={"scores"})
    return SiteDetail(job_id=job_id, **shown, **findings(found))


def _query(job_id: int) -> tuple[object, ...]:
    return ("sites", job_id)


def _cursor(ground: Ground, actor: Actor, job_id: int, last: int | None) -> str | None:
    return None if last is None else ground.cursors.give(actor.name, _query(job_id), [last])
