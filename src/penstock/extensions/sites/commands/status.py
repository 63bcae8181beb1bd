"""`penstock sites status` and `penstock sites models`"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.extensions.sites.commands.wording import approval, notes
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import LimitOption, show_page
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.budgets import BudgetState
    from penstock.extensions.sites.findings import Share
    from penstock.extensions.sites.views import AnalysisView, SiteView

JobArgument = Annotated[int | None, typer.Argument(metavar="JOB", min=1, help="One analysis; all of them otherwise.")]
OwnerOption = Annotated[str | None, typer.Option("--owner", help="Only those of this user.")]
AfterOption = Annotated[int | None, typer.Option("--after", metavar="ID", help="Where the page before ended.")]

_ANALYSES = (
    Column(key="job_id", title="analysis", right=True, show=str),
    Column(key="name", title="name", show=lambda value: short(value, 40) or "–"),
    Column(key="step", title="step"),
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
        from penstock.application import Penstock
        from penstock.extensions.sites.models.registry import Models

        found = Models(Penstock("cli", settings=session.settings)).listing()
        session.out.table([asdict(one) for one in found], _MODELS)


async def _list(session: Session, owner: str | None, limit: int, before: int | None) -> None:
    from penstock.extensions.sites import views

    async with session.connection() as connection:
        found, last = await views.analyses(connection, owner=owner, before=before, limit=limit)
    empty = "No analyses yet. `penstock sites add example.com` starts one; `sites sample-site` has a site to try."
    rows = [_analysis(one) for one in found]
    show_page(session, rows, None if last is None else str(last), _ANALYSES, empty=empty)
    for job in sorted(one.job_id for one in found if one.waits_for_approval):
        session.out.say(f"Analysis {job} waits for approval: {approval(job)}.")


def _analysis(view: "AnalysisView") -> dict[str, Any]:
    counts = view.counts
    return {
        "job_id": view.job_id,
        "name": view.name,
        "owner": view.owner,
        "state": view.state.name,
        "current_step": view.current_step,
        "step": "waits for approval" if view.waits_for_approval else view.current_step,
        "waits_for_approval": view.waits_for_approval,
        "progress": view.progress,
        "counts": asdict(counts),
        "steps": [asdict(step) for step in view.steps],
        "options": dict(view.options),
        "created_at": view.created_at,
        "ended": f"{counts.finished:,}/{counts.total:,}",
        "failed": counts.error,
    }


async def _show(session: Session, job: int, limit: int, after: int | None) -> None:
    from penstock.extensions.sites import budgets, views

    async with session.connection() as connection:
        view = await views.analysis(connection, job)
        page = await views.site_page(connection, job, after=views.behind(after), limit=limit)
        budget = await budgets.standing(connection, job)
    rows = [_site(one) for one in page.sites]
    following = None if page.next is None else page.next.task_id
    if session.out.json:
        session.out.emit(
            {
                **_analysis(view),
                "budget": None if budget is None else asdict(budget),
                "items": rows,
                "next": following,
            }
        )
        return
    session.out.show({}, _described(view, budget))
    show_page(session, rows, None if following is None else str(following), _SITES, empty="It has no sites.")
    if told := notes(session, [(one.site_id, one.error or one.why) for one in page.sites]):
        session.out.show({}, f"\n{told}")


def _described(view: "AnalysisView", budget: "BudgetState | None") -> str:
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
        left = f", at most {budget.reserved:g} more in calls under way" if budget.reserved else ""
        pairs["budget"] = f"{budget.spent:g} of {budget.most:g} spent, in the currency of the models' prices{left}"
    if view.waits_for_approval:
        pairs["approval"] = f"its prompts wait for it: {approval(view.job_id)}"
    if counts.error:
        again = "" if counts.total == 1 else " --statuses error"
        pairs["next"] = f"when the cause is mended: `penstock sites run {view.job_id}{again}`"
    return fields(pairs) + "\n"


def _site(site: "SiteView") -> dict[str, Any]:
    coverage, visibility = (None, None) if site.scores is None else (site.scores.coverage, site.scores.visibility)
    return {
        "site_id": site.site_id,
        "url": site.url,
        "state": site.state.name,
        "current_step": site.current_step,
        "coverage": _share(coverage),
        "visibility": _share(visibility),
        "scores": {
            "coverage": None if coverage is None else asdict(coverage),
            "visibility": None if visibility is None else asdict(visibility),
        },
        "error": site.error,
        "why": site.why,
        "edited": site.edited,
        "approved_at": site.approved_at,
        "note": site.error or site.why,
    }


def _share(share: "Share | None") -> str | None:
    return None if share is None or share.value is None else f"{share.value * 100:.0f} %"
