"""`penstock sites status` and `penstock sites models`"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.command import command
from penstock.cli.output import Column
from penstock.cli.pages import LimitOption, show_page
from penstock.cli.readable import clean, fields, short
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.apps.website_analysis.budgets import Standing
    from penstock.apps.website_analysis.views import AnalysisView, SiteView

JobArgument = Annotated[int | None, typer.Argument(metavar="JOB", min=1, help="One analysis; all of them otherwise.")]
OwnerOption = Annotated[str | None, typer.Option("--owner", help="Only those of this user.")]
AfterOption = Annotated[int | None, typer.Option("--after", metavar="ID", help="Where the page before ended.")]

_ANALYSES = (
    Column(key="job_id", title="analysis", right=True, show=str),
    Column(key="name", title="name", show=lambda value: short(value, 40) or "–"),
    Column(key="current_step", title="step"),
    Column(key="ended", title="sites", right=True),
    Column(key="failed", title="failed", right=True),
    Column(key="created_at", title="submitted"),
)
_SITES = (
    Column(key="site_id", title="site", right=True, show=str),
    Column(key="url", title="address", show=lambda value: short(value, 50)),
    Column(key="current_step", title="step"),
    Column(key="coverage", title="coverage", right=True),
    Column(key="visibility", title="visibility", right=True),
    Column(key="note", title="error, or what it waits for", show=lambda value: short(value, 80) or "–"),
)
_MODELS = (
    Column(key="name", title="model"),
    Column(key="input_price", title="in, per million", right=True, show=lambda value: f"{value:g}"),
    Column(key="output_price", title="out, per million", right=True, show=lambda value: f"{value:g}"),
    Column(key="ready", title="ready"),
    Column(key="problem", title="problem", show=lambda value: short(value, 100) or "–"),
)


def register(app: typer.Typer) -> None:
    @command(app)
    async def status(
        session: Session,
        job: JobArgument = None,
        owner: OwnerOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """Where analyses stand; with JOB its stages and its sites."""
        if job is None:
            await _list(session, owner, limit, after)
        else:
            await _show(session, job, limit, after)

    @command(app)
    def models(session: Session) -> None:
        """Which models can be asked, what they cost, and whether their key is there."""
        from penstock.apps.website_analysis.models.registry import Models
        from penstock.engine.app import Penstock

        found = Models(Penstock("cli", settings=session.settings)).listing()
        session.out.table([{**asdict(one), "ready": one.problem is None} for one in found], _MODELS)


async def _list(session: Session, owner: str | None, limit: int, before: int | None) -> None:
    from penstock.apps.website_analysis import views

    async with session.connection() as connection:
        found, last = await views.analyses(connection, owner=owner, before=before, limit=limit)
    empty = "No analyses yet. `penstock sites add example.com` starts one; `sites sample-site` has a site to try."
    show_page(session, [_analysis(one) for one in found], None if last is None else str(last), _ANALYSES, empty=empty)


def _analysis(view: "AnalysisView") -> dict[str, Any]:
    counts = view.counts
    return {
        "job_id": view.job_id,
        "name": view.name,
        "owner": view.owner,
        "state": view.state.name,
        "current_step": view.current_step,
        "progress": view.progress,
        "counts": asdict(counts),
        "steps": [asdict(step) for step in view.steps],
        "options": dict(view.options),
        "created_at": view.created_at,
        "ended": f"{counts.finished:,}/{counts.total:,}",
        "failed": counts.error,
    }


async def _show(session: Session, job: int, limit: int, after: int | None) -> None:
    from penstock.apps.website_analysis import budgets, views

    async with session.connection() as connection:
        view = await views.analysis(connection, job)
        page = await views.site_page(connection, job, after=after, limit=limit)
        budget = await budgets.standing(connection, job)
    rows = [_site(one) for one in page.sites]
    if session.out.json:
        session.out.emit(
            {**_analysis(view), "budget": None if budget is None else asdict(budget), "items": rows, "next": page.next}
        )
        return
    session.out.show({}, _described(view, budget))
    show_page(session, rows, None if page.next is None else str(page.next), _SITES, empty="It has no sites.")


def _described(view: "AnalysisView", budget: "Standing | None") -> str:
    counts = view.counts
    pairs = {
        "analysis": f"{view.job_id} {clean(view.name or '')}".strip(),
        "step": view.current_step,
        "sites": f"{counts.finished:,}/{counts.total:,} ended, {counts.error:,} failed",
        "progress": f"{view.progress * 100:.0f} %",
    }
    for step in view.steps:
        pairs[step.stage] = (
            f"{step.waiting:,} waiting, {step.running:,} running, {step.done:,} done, {step.failed:,} failed"
        )
    if budget is not None:
        pairs["spent"] = f"{budget.spent:g} of {budget.most:g}"
    return fields(pairs) + "\n"


def _site(site: "SiteView") -> dict[str, Any]:
    return {
        "site_id": site.site_id,
        "url": site.url,
        "state": site.state.name,
        "current_step": site.current_step,
        "coverage": _share(site.summary.coverage),
        "visibility": _share(site.summary.visibility),
        "scores": {"coverage": site.summary.coverage, "visibility": site.summary.visibility},
        "error": site.error,
        "why": site.why,
        "edited": site.summary.edited,
        "approved_at": site.summary.approved_at,
        "note": site.error or site.why,
    }


def _share(share: dict[str, Any] | None) -> str | None:
    return None if share is None or share["value"] is None else f"{share['value'] * 100:.0f} %"
