"""Analyses and sites as people see them, beside what the engine knows: the same reading for the routes and the command
line. With the queries of ``sql/sites.sql``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from penstock.core import job_counts
from penstock.core.job_counts import JobCounts
from penstock.errors import JobNotFound, TaskNotFound
from penstock.extensions.sites import answers, orders
from penstock.extensions.sites.findings import (
    ASKING,
    FORMING,
    PIPELINE,
    READING,
    Answer,
    Prompt,
    Share,
    SiteFacts,
    SiteScores,
    SiteScoring,
)
from penstock.insight import items
from penstock.insight.items import Item, ItemPage
from penstock.insight.job_steps import Step, steps_of
from penstock.lifecycle import FINISHED, JobState, State
from penstock.storage import reads
from penstock.storage.items import EARLIEST, ItemPosition, ItemsWanted
from penstock.storage.queries import load

_sql = load("sites", "penstock.extensions.sites")
Connection = Any
# Jobs looked at for one page of analyses.
_WINDOW = 2000
_MOST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnalysis:
    """The job as it was submitted."""

    id: int
    pipeline: str
    name: str | None
    owner: str | None
    created_at: datetime
    metadata: dict[str, Any]


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
class StageResult:
    """``reused_from``: the run that computed it, where this one did not have to."""

    stage: str
    run: int
    version: str | None
    reused_from: int | None
    at: datetime
    result: Any


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
    found, _ = await _stored(connection, owner=None, before=before, limit=1, window=1)
    if not found or found[0].id != job_id:
        raise JobNotFound(job_id)
    return found[0]


async def _stored(
    connection: Connection, *, owner: str | None, before: int | None, limit: int, window: int
) -> tuple[list[StoredAnalysis], int | None]:
    """The newest, and the last job that was looked at; None: there are no more."""
    rows = await connection.fetch(_sql.analyses, owner, before, window)
    wanted = [
        StoredAnalysis(**{**row, "metadata": orjson.loads(row["metadata"])})
        for row in rows
        if row["pipeline"] == PIPELINE
    ]
    if len(wanted) > limit:
        return wanted[:limit], wanted[limit - 1].id
    return wanted, rows[-1]["id"] if len(rows) == window else None


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
        window = max(_WINDOW, limit + 1)
        jobs, looked_to = await _stored(connection, owner=owner, before=before, limit=limit, window=window)
        return await _views(connection, jobs), looked_to


async def _views(connection: Connection, jobs: Sequence[StoredAnalysis]) -> list[AnalysisView]:
    job_ids = [job.id for job in jobs]
    steps: dict[int, list[Mapping[str, Any]]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(_sql.steps, job_ids):
        steps[row["job_id"]].append(row)
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
) -> tuple[tuple[SiteView, ...], ItemPage]:
    """In the order in which they were given; those in some ``states`` only: what changed last first. With the places
    where the page begins and ends."""
    wanted = ItemsWanted(jobs=[job_id], states=list(states or State))
    sort: items.Sort = "-updatedAt" if states else "row"
    page = await items.page(connection, wanted, sort=sort, after=after, before=before, limit=limit)
    return await _shown(connection, page.items), page


async def sites_now(connection: Connection, site_ids: Sequence[int]) -> tuple[SiteView, ...]:
    return await _shown(connection, await items.now(connection, site_ids))


async def failed_sites(connection: Connection, job_id: int, *, limit: int) -> tuple[SiteView, ...]:
    """The first that ended in an error."""
    wanted = ItemsWanted(jobs=[job_id], states=[State.ERROR])
    page = await items.page(connection, wanted, sort="updatedAt", limit=limit)
    return await _shown(connection, page.items)


async def _shown(connection: Connection, found: Sequence[Item]) -> tuple[SiteView, ...]:
    rows = await connection.fetch(_sql.more, [item.id for item in found])
    more = {row["task_id"]: row for row in rows}
    return tuple(_site(item, more[item.id]) for item in found)


async def _waits_for_approval(connection: Connection, view: AnalysisView) -> bool:
    """True also while a runner holds such a site, to look whether it was approved."""
    if not view.options.get("review") or not view.steps:
        return False
    if not view.steps[-1].waiting and not view.steps[-1].running:
        return False
    return bool(await waiting_for_approval(connection, view.job_id, limit=1))


async def site(connection: Connection, site_id: int) -> SiteView:
    found = await sites_now(connection, [site_id])
    if not found:
        raise TaskNotFound(site_id)
    return found[0]


async def details(connection: Connection, site_id: int) -> SiteDetails:
    """Everything about one site, read in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        seen = await site(connection, site_id)
        found = await stages(connection, site_id)
        order = await orders.get(connection, site_id)
        given = await answers.of_task(connection, site_id)
    formed = found[FORMING].result["prompts"] if FORMING in found else []
    wanted = tuple(Prompt.from_json(one) for one in formed)
    if order is not None and order.prompts is not None:
        wanted = order.prompts
    ended = found[ASKING].result if ASKING in found else None
    asked = wanted
    if ended is not None and seen.state in FINISHED:
        asked = tuple(Prompt.from_json(one) for one in ended["prompts"])
    return SiteDetails(
        site=seen,
        stages=tuple(found.values()),
        facts=SiteFacts.from_json(found[READING].result) if READING in found else None,
        prompts=asked,
        next_prompts=None if wanted == asked else wanted,
        answers=tuple(given),
        scores=None if ended is None else SiteScoring.from_json(ended["scores"]),
        options={} if ended is None else ended.get("options", {}),
    )


async def only_site(connection: Connection, job_id: int) -> int | None:
    """The site of an analysis of one; None where there are more."""
    found, _ = await site_page(connection, job_id, limit=2)
    return found[0].site_id if len(found) == 1 else None


def _site(item: Item, more: Mapping[str, Any]) -> SiteView:
    """``more``: a row of the query of that name."""
    improvements = more["improvements"]
    return SiteView(
        site_id=item.id,
        job_id=item.job_id,
        url=str(item.input.get("url", "")),
        state=item.status,
        current_step=_step_of(item),
        stage=item.stage,
        attempts=item.attempts,
        name=more["name"],
        scores=_scores(more),
        improvements=() if improvements is None else tuple(orjson.loads(improvements)),
        error=None if item.error is None else str(item.error.get("message") or item.error.get("type") or ""),
        why=_why(item, more["approved_at"]),
        edited=more["edited"],
        approved_at=more["approved_at"],
        updated_at=item.updated_at,
    )


def _scores(row: Any) -> SiteScores | None:
    if row["coverage"] is None or row["visibility"] is None:
        return None
    coverage, visibility = (Share(**orjson.loads(row[name])) for name in ("coverage", "visibility"))
    return SiteScores(
        coverage=coverage, visibility=visibility, unsupported=row["unsupported"] or 0, cost=row["cost"] or 0.0
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


async def waiting_for_approval(connection: Connection, job_id: int, *, after: int = 0, limit: int) -> list[int]:
    rows = await connection.fetch(_sql.waiting_for_approval, job_id, ASKING, after, limit)
    return [row["task_id"] for row in rows]


async def waiting_to_ask(connection: Connection, site_ids: Sequence[int]) -> set[int]:
    """Those of them that stand before their models."""
    return {row["task_id"] for row in await connection.fetch(_sql.waiting_at, site_ids, ASKING)}


async def prompts_of(connection: Connection, site_ids: Sequence[int]) -> tuple[int, int]:
    """(how many, how many bytes) of all of them."""
    row = await connection.fetchrow(_sql.prompts_of, site_ids, FORMING)
    return row["prompts"], row["bytes"]


async def ended(connection: Connection, job_id: int, states: Sequence[State], *, after: int, limit: int) -> list[int]:
    rows = await connection.fetch(_sql.ended, job_id, [int(one) for one in states], after, limit)
    return [row["task_id"] for row in rows]


async def stages(connection: Connection, site_id: int) -> dict[str, StageResult]:
    """The newest result of each."""
    return {
        row["stage"]: StageResult(**{**row, "result": None if row["result"] is None else orjson.loads(row["result"])})
        for row in await connection.fetch(_sql.stages, site_id)
    }
