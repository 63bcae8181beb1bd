"""Waiting for an analysis: a line with the count of each stage, and what is left behind at the end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.extensions.sites.commands.wording import SHOWN_FAILURES, approval, failures
from penstock.terminal.progress import Progress
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.views import AnalysisView, SiteView
    from penstock.insight.job_steps import Step

_LOOK_SECONDS = 0.25
_WORDS = {"website-analysis": "reading", "prompt-forming": "prompts", "model-analysis": "models"}


class StageLine(Progress):
    """``12/48 sites · reading 3 · prompts 0 · models 5 · 1 failed``: how many each stage works on now; where all wait,
    also what for."""

    steps: "Sequence[Step]" = ()
    waits_for: str | None = None

    def line(self, done: int, failed: int = 0) -> str:
        parts = [f"{done:,}/{self.total:,} {'site' if self.total == 1 else 'sites'}"]
        parts += [f"{_WORDS.get(step.stage, step.stage)} {step.running:,}" for step in self.steps]
        parts += [f"{failed:,} failed"] if failed else []
        return " · ".join([*parts, *([f"waiting: {self.waits_for}"] if self.waits_for else [])])


async def finish(session: Session, job: int, report: Path | None) -> int:
    """Wait, tell, and write the report where one was asked for. 1: a site did not end well."""
    view = await until_ended(session, job)
    counts = view.counts
    failed = await _failed(session, view)
    data: dict[str, Any] = {
        "job_id": job,
        "state": view.state.name,
        "sites": counts.total,
        "done": counts.done,
        "failed": counts.error,
        "failures": [{"site_id": one.site_id, "url": one.url, "error": one.error} for one in failed],
        "report": None if report is None else str(report),
    }
    text = f"Analysis {job} is {view.state.name}: {counts.done:,} done, {counts.error:,} failed."
    if report is not None:
        from penstock.extensions.sites.commands.report import written

        await written(session, job, report)
        text += f" The report is in {report}."
    session.out.show(data, "\n".join([text, *failures(view, failed)]))
    return 0 if view.state.name == "DONE" else 1


async def _failed(session: Session, view: "AnalysisView") -> "Sequence[SiteView]":
    from penstock.extensions.sites import views

    if not view.counts.error:
        return ()
    async with session.connection() as connection:
        return await views.failed_sites(connection, view.job_id, limit=SHOWN_FAILURES)


async def until_ended(session: Session, job: int) -> "AnalysisView":
    """Ctrl-C leaves the analysis alone."""
    view = await _look(session, job)
    line = StageLine(session.out.stderr, view.counts.total, quiet=session.out.quiet)
    told = False
    try:
        while view.counts.finished < view.counts.total:
            line.steps = view.steps
            line.waits_for = await _waits_for(session, view)
            line.update(view.counts.finished, failed=view.counts.error, total=view.counts.total)
            told = told or await _tell_review(session, view)
            await asyncio.sleep(_LOOK_SECONDS)
            view = await _look(session, job)
    except asyncio.CancelledError:
        line.detach()
        session.out.say(f"Not waiting any more; analysis {job} goes on. `penstock sites status {job}` shows it.")
        raise
    line.steps, line.waits_for = view.steps, None
    line.end(view.counts.finished, failed=view.counts.error)
    return view


async def _look(session: Session, job: int) -> "AnalysisView":
    from penstock.extensions.sites import views

    async with session.connection() as connection:
        return await views.analysis(connection, job)


async def _waits_for(session: Session, view: "AnalysisView") -> str | None:
    """Asked only where nothing is under way: then the reason of one site is mostly that of all."""
    from penstock.insight import items, why
    from penstock.lifecycle import State

    if any(step.running for step in view.steps):
        return None
    async with session.connection() as connection:
        page = await items.page_of_job(connection, view.job_id, states=[State.PENDING], after=None, limit=1)
        if not page.items:
            return None
        found = await why.explain(connection, page.items[0].id)
    if found.reason is why.Reason.NO_WORKER:
        # The sentence of the engine names the application; this one ships with Penstock and runs in `penstock up`.
        return "no live worker serves this stage; start `penstock up` in another terminal"
    if found.reason is why.Reason.SNOOZED and view.options.get("review"):
        return "its prompts have to be approved"
    return page.items[0].why


async def _tell_review(session: Session, view: "AnalysisView") -> bool:
    """Whoever waits for themselves should know it. True: nothing more to say."""
    if not view.options.get("review"):
        return True
    open_before = sum(step.waiting + step.running for step in view.steps[:-1])
    if open_before or not view.steps or not view.steps[-1].waiting:
        return False
    session.out.say(f"Prompts wait for approval: {approval(view.job_id)}.")
    return True
