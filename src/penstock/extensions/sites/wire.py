"""Analyses on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BeforeValidator, Field, StringConstraints

from penstock.console.http.job_wire import Counts, JobStep
from penstock.console.http.parameters import COUNTED, STORABLE, Flag, Name, Number
from penstock.console.http.wire import MOST_ID, QueueState, Wire
from penstock.extensions.sites.answer import Evidence
from penstock.extensions.sites.budgets import BudgetState
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.models.registry import ModelView
from penstock.extensions.sites.scores import SiteScores, SiteScoring
from penstock.extensions.sites.submitting import MOST_BUDGET, MOST_PROMPTS, MOST_SAMPLES
from penstock.extensions.sites.views import SiteDetails
from penstock.lifecycle import State

MOST_SITES = 10_000
MOST_TEXT = 2_000_000
_MOST_MODELS = 20
_MOST_PAGES = 1000
StateName = Annotated[
    Literal["PENDING", "PROCESSING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"],
    BeforeValidator(lambda state: state.name if isinstance(state, State) else state),
]
Ended = Literal["DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]
StageName = Literal["website-analysis", "prompt-forming", "model-analysis"]
SiteIdPath = Annotated[int, Path(alias="siteId", ge=1, le=MOST_ID, description="As the list of sites has it.")]
AnalysisId = Annotated[int, Path(alias="jobId", ge=1, le=MOST_ID, description="As `POST /api/analyses` answered it.")]
Address = Annotated[str, StringConstraints(max_length=2000, pattern=STORABLE)]
SiteIds = Annotated[list[Annotated[int, Field(ge=1, le=MOST_ID), COUNTED]], Field(min_length=1, max_length=MOST_SITES)]


class Chosen(Wire):
    """What is left out is as the settings say."""

    name: Name | None = None
    models: Annotated[list[Name], Field(min_length=1, max_length=_MOST_MODELS)] | None = None
    pages: Annotated[int, Field(ge=1, le=_MOST_PAGES), COUNTED] | None = Field(
        None, description="Pages read beside the start page."
    )
    samples: Annotated[int, Field(ge=1, le=MOST_SAMPLES), COUNTED] | None = Field(
        None, description="Answers per prompt and model."
    )
    budget: Annotated[Number, Field(ge=0, le=MOST_BUDGET)] | None = Field(
        None, description="Most that the whole job may spend on models, in the currency of their prices."
    )
    prompts: Annotated[int, Field(ge=1, le=MOST_PROMPTS), COUNTED] | None = Field(
        None, description="Prompts formed per site."
    )
    review: Flag | None = Field(None, description="No model is asked before somebody approved the prompts.")

    def options(self) -> dict[str, Any]:
        return self.model_dump(exclude={"name", *Places.model_fields}, exclude_none=True)


class Places(Wire):
    """Where the addresses come from: at least one of these."""

    url: Address | None = None
    urls: Annotated[list[Address], Field(max_length=MOST_SITES)] | None = None
    text: Annotated[str, StringConstraints(max_length=MOST_TEXT, pattern=STORABLE)] | None = Field(
        None, description="Pasted: one address per line, or with commas between."
    )
    sitemap: Address | None = Field(None, description="The address of a sitemap: every page in it is a site.")


class NewAnalysis(Places, Chosen):
    """`url`, `urls`, `text` or `sitemap`, and what was chosen."""


class Refused(Wire):
    text: str
    why: str


class AddedBody(Wire):
    """`sites`: how many are analysed, each once; `refused`: the first hundred that are no site, with the reason."""

    job_id: int
    created: bool
    sites: int
    duplicates: int
    refused: list[Refused]
    refused_count: int


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


class PromptsBody(Wire):
    """All prompts of the site, in the order in which they are asked."""

    prompts: Annotated[
        list[Annotated[str, StringConstraints(max_length=500, pattern=STORABLE)]],
        Field(min_length=1, max_length=MOST_PROMPTS),
    ]


class EditedBody(Wire):
    """`counts`: when they are asked. `now`: in this run; `rerun`: when it is run again from `model-analysis`."""

    site_id: int
    prompts: list[PromptBody]
    counts: Literal["now", "rerun"]


class ApproveBody(Wire):
    site_ids: SiteIds | None = Field(None, description="Left out: all whose prompts wait for approval.")
    dry_run: Flag = Field(False, description="Approve nothing; say how many, and what it may cost.")


class ApprovedBody(Wire):
    """`calls`: how many questions models are asked about them at most, fewer where an earlier run has the answer;
    `mostCost`: the most that those may cost, before the budget stops them."""

    approved: int
    calls: int
    most_cost: float


class RerunBody(Wire):
    """`siteIds` left out: all that ended in one of `statuses`. A site that never came to `fromStage` starts where it
    ended."""

    from_stage: StageName
    site_ids: SiteIds | None = None
    statuses: Annotated[list[Ended], Field(min_length=1, max_length=5)] | None = Field(
        None, description="Endings that start again; left out: DONE and ERROR."
    )
    replay: Flag = Field(False, description="Read the pages kept from the last run instead of the network.")
    fresh: Flag = Field(False, description="Ask the models also what they answered in an earlier run.")
    budget: Annotated[Number, Field(ge=0, le=MOST_BUDGET)] | None = Field(
        None, description="Most that the whole analysis may have spent from now on; left out: as it was."
    )


class RerunStarted(Wire):
    started: int


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
