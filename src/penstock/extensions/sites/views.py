"""Analyses and sites as people see them: the same reading for the routes and the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from penstock.core import job_counts
from penstock.core.job_counts import JobCounts
from penstock.errors import JobNotFound, TaskNotFound
from penstock.extensions.sites import answers, orders, sites
from penstock.extensions.sites.findings import (
    ASKING,
    FORMING,
    PIPELINE,
    READING,
    Answer,
    Prompt,
    SiteFacts,
    SiteScores,
    SiteScoring,
)
from penstock.extensions.sites.sites import StageResult, StoredAnalysis, Summary
from penstock.insight import items
from penstock.insight.items import Item
from penstock.insight.job_steps import Step, steps_of
from penstock.lifecycle import FINISHED, JobState, State
from penstock.storage import reads
from penstock.storage.items import EARLIEST, ItemPosition, ItemsWanted

Connection = Any
# Jobs looked at for one page of analyses.
_WINDOW = 2000
_MOST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisView:
    """``progress`` from 0 to 1 over all stages; ``current_step``: the first stage that still holds a site.
    ``options``: what was chosen for it; what was left out is as the settings say. ``waits_for_approval``: sites of it
    stand before their models until a person approves the prompts."""

    job_id: int
    name: str | None
    owner: str | None
    created_at: datetime
    options: Mapping[str, Any]
    state: JobState
    counts: JobCounts
    steps: tuple[Step, ...]
    current_step: str
    progress: float
    waits_for_approval: bool = False

    @property
    def queue_state(self) -> str:
        return self.state.name

    @property
    def total_sites(self) -> int:
        return self.counts.total


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteView:
    """``current_step``: not-started, a stage, completed, failed or cancelled. ``name``, ``scores`` and ``improvements``
    of the last successful run."""

    site_id: int
    job_id: int
    url: str
    state: State
    current_step: str
    stage: str | None
    attempts: int
    name: str | None
    scores: SiteScores | None
    improvements: tuple[str, ...]
    error: str | None
    why: str | None
    edited: bool
    approved_at: datetime | None
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """``first``, ``last``: the places of its ends; ``previous``, ``next``: the same where there may be more."""

    sites: tuple[SiteView, ...]
    first: ItemPosition | None = None
    last: ItemPosition | None = None
    previous: ItemPosition | None = None
    next: ItemPosition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteDetails:
    """``prompts``: those that were asked, or will be; ``next_prompts``: edited since they were asked."""

    site: SiteView
    stages: tuple[StageResult, ...]
    facts: SiteFacts | None
    prompts: tuple[Prompt, ...]
    next_prompts: tuple[Prompt, ...] | None
    answers: tuple[Answer, ...]
    scores: SiteScoring | None
    options: Mapping[str, Any]


async def require_analysis(connection: Connection, job_id: int) -> StoredAnalysis:
    """A job of another pipeline is no analysis: it is told like one that does not exist."""
    before = min(job_id, _MOST_ID - 1) + 1
    found = await sites.analyses(connection, owner=None, before=before, pipeline=PIPELINE, limit=1, window=1)
    if not found.jobs or found.jobs[0].id != job_id:
        raise JobNotFound(job_id)
    return found.jobs[0]


async def analysis(connection: Connection, job_id: int) -> AnalysisView:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await require_analysis(connection, job_id)
        (view,) = await _views(connection, [job])
    return view


async def analyses(
    connection: Connection, *, owner: str | None, before: int | None, limit: int
) -> tuple[list[AnalysisView], int | None]:
    """Newest first, and behind which job the next page starts."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await sites.analyses(
            connection, owner=owner, before=before, pipeline=PIPELINE, limit=limit, window=max(_WINDOW, limit + 1)
        )
        return await _views(connection, found.jobs), found.looked_to


async def _views(connection: Connection, jobs: Sequence[StoredAnalysis]) -> list[AnalysisView]:
    job_ids = [job.id for job in jobs]
    steps = await sites.steps(connection, job_ids)
    moved = await reads.job_movements(connection, job_ids)
    found = [_analysis(job, moved[job.id], steps[job.id]) for job in jobs]
    return [replace(one, waits_for_approval=await _waits_for_approval(connection, one)) for one in found]


def _analysis(job: StoredAnalysis, moved: Mapping[str, Any], at: Sequence[Mapping[str, Any]]) -> AnalysisView:
    counts = job_counts.counts_of(moved)
    state = job_counts.state_of(moved)
    steps = steps_of(state, at)
    return AnalysisView(
        job_id=job.id,
        name=job.name,
        owner=job.owner,
        created_at=job.created_at,
        options=job.metadata.get("options") or {},
        state=state,
        counts=counts,
        steps=steps.steps,
        current_step=steps.current,
        progress=round(steps.progress, 4),
    )


def behind(site_id: int | None) -> ItemPosition | None:
    """Where the page behind a site starts, in the order in which they were given."""
    return None if site_id is None else ItemPosition(EARLIEST, site_id)


async def site_page(
    connection: Connection,
    job_id: int,
    *,
    states: Sequence[State] = (),
    after: ItemPosition | None = None,
    before: ItemPosition | None = None,
    limit: int,
) -> SitePage:
    """In the order in which they were given; those in some ``states`` only: what changed last first."""
    wanted = ItemsWanted(jobs=[job_id], states=list(states or State))
    sort: items.Sort = "-updatedAt" if states else "row"
    page = await items.page(connection, wanted, sort=sort, after=after, before=before, limit=limit)
    shown = await _shown(connection, page.items)
    return SitePage(sites=shown, first=page.first, last=page.last, previous=page.previous, next=page.next)


async def sites_now(connection: Connection, site_ids: Sequence[int]) -> tuple[SiteView, ...]:
    return await _shown(connection, await items.now(connection, site_ids))


async def failed_sites(connection: Connection, job_id: int, *, limit: int) -> tuple[SiteView, ...]:
    """The first that ended in an error."""
    wanted = ItemsWanted(jobs=[job_id], states=[State.ERROR])
    page = await items.page(connection, wanted, sort="updatedAt", limit=limit)
    return await _shown(connection, page.items)


async def _shown(connection: Connection, found: Sequence[Item]) -> tuple[SiteView, ...]:
    more = await sites.more(connection, [item.id for item in found])
    return tuple(_site(item, more[item.id]) for item in found)


async def _waits_for_approval(connection: Connection, view: AnalysisView) -> bool:
    """True also while a runner holds such a site, to look whether it was approved."""
    if not view.options.get("review") or not view.steps:
        return False
    if not view.steps[-1].waiting and not view.steps[-1].running:
        return False
    return bool(await sites.waiting_for_approval(connection, view.job_id, ASKING, limit=1))


async def site(connection: Connection, site_id: int) -> SiteView:
    item = await items.one(connection, site_id)
    if item is None:
        raise TaskNotFound(site_id)
    return _site(item, (await sites.more(connection, [site_id]))[site_id])


async def details(connection: Connection, site_id: int) -> SiteDetails:
    """Everything about one site, read in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        seen = await site(connection, site_id)
        stages = await sites.stages(connection, site_id)
        order = await orders.get(connection, site_id)
        given = await answers.of_task(connection, site_id)
    formed = stages[FORMING].result["prompts"] if FORMING in stages else []
    wanted = tuple(Prompt.from_json(one) for one in formed)
    if order is not None and order.prompts is not None:
        wanted = order.prompts
    ended = stages[ASKING].result if ASKING in stages else None
    asked = wanted
    if ended is not None and seen.state in FINISHED:
        asked = tuple(Prompt.from_json(one) for one in ended["prompts"])
    return SiteDetails(
        site=seen,
        stages=tuple(stages.values()),
        facts=SiteFacts.from_json(stages[READING].result) if READING in stages else None,
        prompts=asked,
        next_prompts=None if wanted == asked else wanted,
        answers=tuple(given),
        scores=None if ended is None else SiteScoring.from_json(ended["scores"]),
        options={} if ended is None else ended.get("options", {}),
    )


async def only_site(connection: Connection, job_id: int) -> int | None:
    """The site of an analysis of one; None where there are more."""
    page = await site_page(connection, job_id, after=None, limit=2)
    return page.sites[0].site_id if len(page.sites) == 1 else None


def _site(item: Item, summary: Summary) -> SiteView:
    return SiteView(
        site_id=item.id,
        job_id=item.job_id,
        url=str(item.input.get("url", "")),
        state=item.status,
        current_step=_step_of(item),
        stage=item.stage,
        attempts=item.attempts,
        name=summary.name,
        scores=summary.scores,
        improvements=summary.improvements,
        error=None if item.error is None else str(item.error.get("message") or item.error.get("type") or ""),
        why=_why(item, summary.approved_at),
        edited=summary.edited,
        approved_at=summary.approved_at,
        updated_at=item.updated_at,
    )


def _step_of(item: Item) -> str:
    match item.status:
        case State.DONE:
            return "completed"
        case State.CANCELLED:
            return "cancelled"
        case State.PENDING if item.stage == READING and not item.attempts and item.error is None:
            return "not-started"
        case State.PENDING | State.PROCESSING:
            return item.stage or "not-started"
        case _:
            return "failed"


def _why(item: Item, approved_at: datetime | None) -> str | None:
    """A site that waits for a person says so instead of a time that means nothing."""
    snoozed = item.why is not None and "snooze" in item.why
    if item.status is State.PENDING and item.stage == ASKING and snoozed and approved_at is None:
        return "its prompts wait for approval; no model is asked before"
    return item.why
