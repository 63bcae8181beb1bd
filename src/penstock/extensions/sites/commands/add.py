"""`penstock sites add` and `penstock sites run`, and waiting for what they start."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.extensions.sites.commands.status import (
    SHOWN_FAILURES,
    JobArgument,
    approval,
    failures,
    not_started,
    written,
)
from penstock.observe.wording import counted
from penstock.terminal.command import command
from penstock.terminal.progress import Progress
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.submitting import Added, Wish
    from penstock.extensions.sites.views import AnalysisView
    from penstock.insight.job_steps import Step

UrlsArgument = Annotated[list[str] | None, typer.Argument(metavar="URL…", help="Addresses, such as example.com.")]
FileOption = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="CSV, or one address per line; - is the standard input.")
]
SitemapOption = Annotated[str | None, typer.Option("--sitemap", metavar="URL", help="Every page of a sitemap.")]
ModelsOption = Annotated[str | None, typer.Option("--models", help="Names with commas between: `sites models`.")]
PagesOption = Annotated[int | None, typer.Option("--pages", min=1, help="Pages read beside the start page.")]
SamplesOption = Annotated[int | None, typer.Option("--samples", min=1, help="Answers per prompt and model.")]
BudgetOption = Annotated[float | None, typer.Option("--budget", min=0, help="Most that models may cost in all.")]
PromptsOption = Annotated[int | None, typer.Option("--prompts", min=1, help="Prompts formed per site.")]
ReviewOption = Annotated[bool, typer.Option("--review", help="Ask no model before the prompts are approved.")]
NameOption = Annotated[str | None, typer.Option("--name", help="What lists call the analysis.")]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose analysis it will be.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until every site has ended.")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write the report there at the end; implies --wait.")
]
StageOption = Annotated[str, typer.Option("--from-stage", help="website-analysis, prompt-forming or model-analysis.")]
SiteOption = Annotated[list[int] | None, typer.Option("--site", metavar="ID", help="Only this one; may be repeated.")]
StatusesOption = Annotated[str, typer.Option("--statuses", help="Which endings start again, with commas between.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask models also what they answered in an earlier run.")]
ReplayOption = Annotated[bool, typer.Option("--replay", help="From the pages that were kept, without network.")]
_SHOWN_REFUSED = 10
_LOOK_SECONDS = 0.25
_WORDS = {"website-analysis": "reading", "prompt-forming": "prompts", "model-analysis": "models"}


def register(app: typer.Typer) -> None:
    @command(app)
    async def add(
        session: Session,
        urls: UrlsArgument = None,
        file: FileOption = None,
        sitemap: SitemapOption = None,
        models: ModelsOption = None,
        pages: PagesOption = None,
        samples: SamplesOption = None,
        budget: BudgetOption = None,
        prompts: PromptsOption = None,
        review: ReviewOption = False,
        name: NameOption = None,
        owner: OwnerOption = "admin",
        wait: WaitOption = False,
        report: ReportOption = None,
    ) -> int:
        """Analyse websites: all that are named, each once, as one job."""
        options = {
            "models": None if models is None else [one.strip() for one in models.split(",") if one.strip()],
            "pages": pages,
            "samples": samples,
            "budget": budget,
            "prompts": prompts,
            "review": review or None,
        }
        wish = _wish(urls or [], file, sitemap, {key: value for key, value in options.items() if value is not None})
        added = await _add(session, wish, name, owner)
        return await _and_wait(session, added, wait=wait, report=report)

    @command(app)
    async def run(
        session: Session,
        job: JobArgument,
        from_stage: StageOption = "website-analysis",
        site: SiteOption = None,
        statuses: StatusesOption = "done,error",
        replay: ReplayOption = False,
        fresh: FreshOption = False,
        budget: BudgetOption = None,
        wait: WaitOption = False,
        report: ReportOption = None,
    ) -> int:
        """Run sites that ended again from a stage; what did not change is not computed again."""
        from penstock.extensions.sites import deciding
        from penstock.insight import items

        started = await deciding.rerun(
            await session.app(),
            job,
            from_stage=from_stage,
            site_ids=site,
            statuses=items.states(statuses),
            options={"replay": replay, "fresh": fresh, "budget": budget},
            by=By.command_line(),
        )
        said = f"{counted(started, 'site')} of analysis {job} {'runs' if started == 1 else 'run'} again."
        if not started:
            said = not_started(await _look(session, job), statuses)
        if not (wait or report):
            session.out.show({"job_id": job, "started": started}, said)
            return 0
        if not started:
            session.out.say(said)
        return await finish(session, job, report)


def _wish(urls: list[str], file: str | None, sitemap: str | None, options: dict[str, Any]) -> "Wish":
    from penstock.extensions.sites.submitting import Wish

    if not urls and file is None and sitemap is None:
        raise UsageError("No site was named. Give addresses, --file or --sitemap.")
    for url in urls:
        if _is_file(url):
            raise UsageError(
                f"{url} is a file in this folder. Was `--file {url}` meant? To analyse a website of that name, write "
                f"https://{url}."
            )
    data = None if file is None else _read(file)
    return Wish(urls=urls, csv=data, sitemap=sitemap, options=options)


def _is_file(url: str) -> bool:
    try:
        return "://" not in url and Path(url).is_file()
    except (OSError, ValueError):
        return False


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None


async def _add(session: Session, wish: "Wish", name: str | None, owner: str) -> "Added":
    from penstock.console.files.submit import Submission
    from penstock.extensions.sites.submitting import submit
    from penstock.terminal.owners import require_owner

    opened = await session.serving_app()
    await require_owner(opened, owner)
    submission = Submission(owner=owner, pipeline="sites", name=name, by=By.command_line())
    return await submit(opened, submission, wish)


async def _and_wait(session: Session, added: "Added", *, wait: bool, report: Path | None) -> int:
    for text, why in added.refused[:_SHOWN_REFUSED]:
        session.out.warn(f"{clean(text)}: {clean(why)}")
    if (more := len(added.refused) - _SHOWN_REFUSED) > 0:
        session.out.warn(f"{more:,} more are no address.")
    if wait or report:
        return await finish(session, added.job_id, report)
    sites = "1 site is" if added.sites == 1 else f"{added.sites:,} sites are"
    data = {
        "job_id": added.job_id,
        "sites": added.sites,
        "duplicates": added.duplicates,
        "refused": [{"text": text, "why": why} for text, why in added.refused],
    }
    session.out.show(data, f"{sites} stored as analysis {added.job_id}. `penstock sites status {added.job_id}`")
    return 0


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
    from penstock.extensions.sites import views

    view = await until_ended(session, job)
    counts = view.counts
    async with session.connection() as connection:
        failed = await views.failed_sites(connection, job, limit=SHOWN_FAILURES) if counts.error else ()
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
        await written(session, job, report)
        text += f" The report is in {report}."
    session.out.show(data, "\n".join([text, *failures(view, failed)]))
    return 0 if view.state.name == "DONE" else 1


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
