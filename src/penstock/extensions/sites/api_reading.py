"""`GET /api/analyses…` and `GET /api/models`: look at analyses, write reports of them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BeforeValidator, Field

from penstock.console.http.actor import Actor, Viewer
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.job_wire import Counts, JobStep
from penstock.console.http.ownership import look_at_job, whose
from penstock.console.http.parameters import After, Before, PageSize, UserId
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID, QueueState, Wire
from penstock.extensions.sites import budgets, reporting, views
from penstock.extensions.sites.budgets import BudgetState
from penstock.extensions.sites.deciding import require_sites
from penstock.extensions.sites.findings import Evidence, SiteFacts, SiteScores, SiteScoring
from penstock.extensions.sites.models.registry import Models, ModelView
from penstock.extensions.sites.settings import SitesSettings, chosen
from penstock.extensions.sites.submitting import MOST_PROMPTS, MOST_SAMPLES
from penstock.extensions.sites.views import SiteDetails
from penstock.insight.items import states as states_of
from penstock.lifecycle import State
from penstock.storage import items
from penstock.storage.items import ItemPosition

StateName = Annotated[
    Literal["PENDING", "PROCESSING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"],
    BeforeValidator(lambda state: state.name if isinstance(state, State) else state),
]
SiteIdPath = Annotated[int, Path(alias="siteId", ge=1, le=MOST_ID, description="As the list of sites has it.")]
AnalysisId = Annotated[int, Path(alias="jobId", ge=1, le=MOST_ID, description="As `POST /api/analyses` answered it.")]
router = APIRouter(prefix="/api", tags=["analyses"], responses=documented())
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


class SiteLook(Wire):
    """`stage`: where it is, or where it ended, after so many `attempts`; `why`: what it waits for; `edited`: somebody
    changed its prompts."""

    site_id: int
    url: str
    state: StateName
    current_step: str
    stage: str | None
    attempts: int
    error: str | None
    why: str | None
    edited: bool
    approved_at: datetime | None
    updated_at: datetime


class SiteBody(SiteLook):
    """`name`: of the business, as the last successful run found it."""

    name: str | None
    scores: SiteScores | None = Field(description="The summary of the last successful run.")


class SitePageBody(Wire):
    """`startCursor`, `endCursor`: of its first and last row. `nextCursor`, `previousCursor`: the same, where there may
    be more."""

    items: list[SiteBody]
    next_cursor: str | None
    previous_cursor: str | None
    start_cursor: str | None
    end_cursor: str | None


class SitesNow(Wire):
    items: list[SiteBody]


class AnalysisBody(Wire):
    """`currentStep`: not-started, the first stage that still holds a site, completed, failed or cancelled."""

    job_id: int
    name: str | None
    owner: str | None
    created_at: datetime
    queue_state: QueueState
    current_step: str
    progress: float = Field(description="From 0 to 1, over all stages.")
    counts: Counts
    total_sites: int
    steps: list[JobStep] = Field(description="How many sites each stage holds and has behind it.")
    waits_for_approval: bool = Field(description="Sites of it wait until somebody approves their prompts.")
    options: dict[str, Any]


class AnalysisPage(Wire):
    items: list[AnalysisBody]
    next_cursor: str | None


class StageBody(Wire):
    """`reusedFrom`: the run that computed the result, where this one did not have to."""

    stage: str
    version: str | None
    run: int
    reused_from: int | None
    at: datetime


class PromptBody(Wire):
    """`fact`: what it was formed from, as it stands on `page`; `template`: name and version."""

    key: str
    text: str
    kind: str
    fact: str
    page: str | None
    template: str


class AnswerBody(Wire):
    """`text` is null where the model gave none; `problem` then says why. `reusedFromRun`: the run that paid for it."""

    prompt: str
    model: str
    sample: int
    text: str | None
    problem: str | None
    tokens_in: int
    tokens_out: int
    cost: float
    took_ms: int
    evidence: list[Evidence]
    model_version: str | None
    reused_from_run: int | None
    cut: bool = Field(description="The model stopped at the longest answer it may give.")
    tokens_estimated: bool = Field(description="The endpoint did not count its tokens.")
    stopped_by_budget: bool


class Findings(Wire):
    """`facts` and `scores` as `docs/website-analysis.md` describes them; null before there are any."""

    stages: list[StageBody]
    facts: SiteFacts | None
    prompts: list[PromptBody] = Field(description="Those that were asked; before that, those that will be.")
    next_prompts: list[PromptBody] | None = Field(
        description="Edited since: those of the next run from model-analysis. Null: the same."
    )
    answers: list[AnswerBody]
    scores: SiteScoring | None


class SiteDetail(SiteLook, Findings):
    """Everything about one site."""

    job_id: int

    @classmethod
    def of(cls, found: SiteDetails) -> "SiteDetail":
        look = SiteLook.model_validate(found.site, from_attributes=True)
        findings = Findings.model_validate(found, from_attributes=True)
        return cls(job_id=found.site.job_id, **dict(look), **dict(findings))


class AnalysisDetail(AnalysisBody):
    """With the first page of sites. An analysis of one site has what was found about it here as well."""

    budget: BudgetState | None = Field(description="Null before the first model was asked.")
    sites: list[SiteBody]
    next_cursor: str | None
    stages: list[StageBody] | None = None
    facts: SiteFacts | None = None
    prompts: list[PromptBody] | None = None
    next_prompts: list[PromptBody] | None = None
    answers: list[AnswerBody] | None = None
    scores: SiteScoring | None = None


class Usual(Wire):
    """What counts where an analysis leaves something out, and how much may be asked for."""

    models: list[str]
    pages: int
    most_pages: int
    samples: int
    most_samples: int
    prompts: int
    most_prompts: int
    budget: float


class ModelList(Wire):
    items: list[ModelView]
    usual: Usual


@router.get("/analyses", operation_id="listAnalyses")
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


@router.get("/analyses/{jobId}", operation_id="getAnalysis")
async def get_analysis(request: Request, actor: Viewer, job_id: AnalysisId) -> AnalysisDetail:
    """Where it stands, and its first sites; of one site everything."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        view = await views.analysis(connection, job_id)
        budget = await budgets.standing(connection, job_id)
        sites, page = await views.site_page(connection, job_id, limit=_FIRST_PAGE)
        alone = len(sites) == 1 and page.next is None
        found = await views.details(connection, sites[0].site_id) if alone else None
    return AnalysisDetail(
        **dict(AnalysisBody.model_validate(view, from_attributes=True)),
        budget=budget,
        sites=_bodies(sites),
        next_cursor=_cursor(ground, actor, _query(job_id, None), page.next),
        **({} if found is None else dict(Findings.model_validate(found, from_attributes=True))),
    )


@router.get("/analyses/{jobId}/sites", operation_id="listSites")
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
    ends = [
        None
        if one is None
        else ItemPosition(*cast("tuple[datetime, int]", ground.cursors.take(actor.name, query, one)))
        for one in (after, before)
    ]
    states = states_of(statuses) if statuses else []
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        sites, page = await views.site_page(
            connection, job_id, states=states, after=ends[0], before=ends[1], limit=page_size
        )
    return SitePageBody(
        items=_bodies(sites),
        next_cursor=_cursor(ground, actor, query, page.next),
        previous_cursor=_cursor(ground, actor, query, page.previous),
        start_cursor=_cursor(ground, actor, query, page.first),
        end_cursor=_cursor(ground, actor, query, page.last),
    )


@router.get("/analyses/{jobId}/sites/now", operation_id="sitesNow")
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


@router.get("/analyses/{jobId}/sites/{siteId}", operation_id="getSite")
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


@router.get("/analyses/{jobId}/report", operation_id="reportAnalysis", responses=_FILE, response_class=Response)
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


@router.get("/models", operation_id="listModels")
async def list_models(request: Request, actor: Viewer) -> ModelList:
    """As this process finds the models file and the environment; workers read their own. With what an analysis uses
    that leaves something out."""
    app = ground_of(request).app
    usual = chosen(app.settings, {})
    return ModelList(
        items=Models(app).listing(),
        usual=Usual(
            models=list(usual.models),
            pages=usual.pages,
            most_pages=app.settings.of(SitesSettings).max_pages,
            samples=usual.samples,
            most_samples=MOST_SAMPLES,
            prompts=usual.prompts,
            most_prompts=MOST_PROMPTS,
            budget=usual.budget,
        ),
    )
