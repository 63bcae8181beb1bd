"""`GET /api/analyses…`: look at analyses and their sites, and write reports of them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request, Response

from penstock.console.http.actor import Actor, Viewer
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.ownership import look_at_job, whose
from penstock.console.http.parameters import After, Before, PageSize, UserId
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID
from penstock.extensions.sites import budgets, reporting, views
from penstock.extensions.sites.deciding import require_sites
from penstock.extensions.sites.wire import (
    AnalysisBody,
    AnalysisDetail,
    AnalysisId,
    AnalysisPage,
    Findings,
    SiteBody,
    SiteDetail,
    SiteIdPath,
    SitePageBody,
    SitesNow,
)
from penstock.insight.items import states as states_of
from penstock.storage import items
from penstock.storage.items import ItemPosition

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented())
_FIRST_PAGE = 50
_MOST_NOW = 200
_MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}
# Facts and answers are text from strangers. The page needs no script, no form and nothing from elsewhere, so it gets
# none, and an origin of its own: what it might hold all the same could not reach the session of whoever reads it.
_SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report. HTML is shown in a sandbox without scripts; the others come as attachments.",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _MEDIA_TYPES.values()},
    }
}


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
        items=[AnalysisBody.model_validate(view, from_attributes=True) for view in found],
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
        **dict(AnalysisBody.model_validate(view, from_attributes=True)),
        budget=budget,
        sites=_bodies(page.sites),
        next_cursor=_cursor(ground, actor, _query(job_id, None), page.next),
        **({} if found is None else dict(Findings.model_validate(found, from_attributes=True))),
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
        items=_bodies(page.sites),
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
    return SitesNow(items=_bodies(found))


@router.get("/{jobId}/sites/{siteId}", operation_id="getSite")
async def get_site(request: Request, actor: Viewer, job_id: AnalysisId, site_id: SiteIdPath) -> SiteDetail:
    """Its stages with version and run, facts, prompts, answers and scores."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        await require_sites(connection, job_id, [site_id])
        found = await views.details(connection, site_id)
    return SiteDetail.of(found)


def _bodies(sites: Iterable[views.SiteView]) -> list[SiteBody]:
    return [SiteBody.model_validate(one, from_attributes=True) for one in sites]


def _query(job_id: int, statuses: str | None) -> tuple[object, ...]:
    return ("sites", job_id, statuses or "")


def _cursor(ground: Ground, actor: Actor, query: tuple[object, ...], place: ItemPosition | None) -> str | None:
    return None if place is None else ground.cursors.give(actor.name, query, [place.at, place.task_id])


def _place(values: list[object]) -> ItemPosition:
    at, task_id = values
    return ItemPosition(cast("datetime", at), cast("int", task_id))


@router.get("/{jobId}/report", operation_id="reportAnalysis", responses=_FILE, response_class=Response)
async def report(
    request: Request,
    actor: Viewer,
    job_id: AnalysisId,
    format: Annotated[reporting.Format, Query(description="What to write.")] = "html",
    site_id: Annotated[
        int | None, Query(alias="siteId", ge=1, le=MOST_ID, description="Only this site; else the whole analysis.")
    ] = None,
    download: Annotated[bool, Query(description="HTML as an attachment as well.")] = False,
) -> Response:
    """Of one site all of it; of several an overview. A site that failed has a report that says why."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        if site_id is not None:
            await require_sites(connection, job_id, [site_id])
        text = await reporting.made(connection, job_id, site_id, format)
    name = f"report-{job_id}{'' if site_id is None else f'-{site_id}'}.{format}"
    shown = "inline" if format == "html" and not download else "attachment"
    headers = {"Content-Disposition": f'{shown}; filename="{name}"', "Content-Security-Policy": _SANDBOX}
    return Response(text, media_type=_MEDIA_TYPES[format], headers=headers)
