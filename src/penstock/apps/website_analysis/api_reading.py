"""`GET /api/analyses…`: look at analyses and their sites."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request

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
    SitesNow,
)
from penstock.engine.items import states as states_of
from penstock.service.actor import Actor, Viewer
from penstock.service.ground import Ground, ground_of
from penstock.service.ownership import look_at_job, whose
from penstock.service.parameters import After, Before, PageSize, UserId
from penstock.service.problems import Problem, documented
from penstock.storage import items
from penstock.storage.items import Place

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented())
_FIRST_PAGE = 50
_MOST_NOW = 200


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
        waiting = {one.job_id for one in found if await views.waits_for_approval(connection, one)}
    if user_id == "all":
        await ground.note_look(actor.entry("analyses.look_at_all", kind="job"))
    return AnalysisPage(
        items=[AnalysisBody(**analysis_fields(view, waits_for_approval=view.job_id in waiting)) for view in found],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


@router.get("/{jobId}", operation_id="getAnalysis")
async def get_analysis(request: Request, actor: Viewer, job_id: AnalysisId) -> AnalysisDetail:
    """Where it stands, and its first sites; of one site everything."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        view = await views.analysis(connection, job_id)
        waits = await views.waits_for_approval(connection, view)
        budget = await budgets.standing(connection, job_id)
        page = await views.site_page(connection, job_id, after=None, limit=_FIRST_PAGE)
        alone = len(page.sites) == 1 and page.next is None
        found = await views.details(connection, page.sites[0].site_id) if alone else None
    return AnalysisDetail(
        **analysis_fields(view, waits_for_approval=waits),
        budget=None if budget is None else BudgetBody(**asdict(budget)),
        sites=[site_body(one) for one in page.sites],
        next_cursor=_cursor(ground, actor, _query(job_id, None), page.next),
        **({} if found is None else findings(found)),
    )


@router.get("/{jobId}/sites", operation_id="listSites")
async def list_sites(
    request: Request,
    actor: Viewer,
    job_id: AnalysisId,
    statuses: Annotated[
        str | None,
        Query(
            max_length=200,
            pattern=r"^[A-Z_,]*$",
            description="Names with commas between them: PENDING, PROCESSING, DONE, ERROR, CANCELLED. All if left out.",
            examples=["ERROR"],
        ),
    ] = None,
    page_size: PageSize = 50,
    after: After = None,
    before: Before = None,
) -> SitePageBody:
    """In the order in which they were given; those of some `statuses`: what changed last first. In both directions."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    if after is not None and before is not None:
        raise Problem(400, "A page is `after` one cursor or `before` one, not both.")
    query = _query(job_id, statuses)
    ends = [None if one is None else _place(ground.cursors.take(actor.name, query, one)) for one in (after, before)]
    states = states_of(statuses) if statuses else []
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        page = await views.site_page(connection, job_id, states=states, after=ends[0], before=ends[1], limit=page_size)
    return SitePageBody(
        items=[site_body(one) for one in page.sites],
        next_cursor=_cursor(ground, actor, query, page.next),
        previous_cursor=_cursor(ground, actor, query, page.previous),
        start_cursor=_cursor(ground, actor, query, page.first),
        end_cursor=_cursor(ground, actor, query, page.last),
    )


@router.get("/{jobId}/sites/now", operation_id="sitesNow")
async def sites_now(
    request: Request,
    actor: Viewer,
    job_id: AnalysisId,
    ids: Annotated[
        str, Query(min_length=1, max_length=4000, pattern=r"^\d{1,18}(,\d{1,18})*$", description="Commas between them.")
    ],
) -> SitesNow:
    """Sites that one knows already, as they are now; at most 200. One that is gone is left out."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    asked = list(dict.fromkeys(int(one) for one in ids.split(",")))
    if len(asked) > _MOST_NOW:
        raise Problem(400, f"At most {_MOST_NOW} sites at one time; these are {len(asked)}.")
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        known = await items.of_job(connection, job_id, asked)
        found = await views.sites_now(connection, [one for one in asked if one in known])
    return SitesNow(items=[site_body(one) for one in found])


@router.get("/{jobId}/sites/{siteId}", operation_id="getSite")
async def get_site(request: Request, actor: Viewer, job_id: AnalysisId, site_id: SiteIdPath) -> SiteDetail:
    """Its stages with version and run, facts, prompts, answers and scores."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        await require_sites(connection, job_id, [site_id])
        found = await views.details(connection, site_id)
    shown: dict[str, Any] = site_body(found.site).model_dump(exclude={"scores", "name"})
    return SiteDetail(job_id=job_id, **shown, **findings(found))


def _query(job_id: int, statuses: str | None) -> tuple[object, ...]:
    return ("sites", job_id, statuses or "")


def _cursor(ground: Ground, actor: Actor, query: tuple[object, ...], place: Place | None) -> str | None:
    return None if place is None else ground.cursors.give(actor.name, query, [place.at, place.task_id])


def _place(values: list[object]) -> Place:
    at, task_id = values
    return Place(cast("datetime", at), cast("int", task_id))
