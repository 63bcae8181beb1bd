"""`penstock sites add` and `penstock sites run`"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.extensions.sites.commands.wording import not_started
from penstock.insight.wording import counted
from penstock.terminal.command import command
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.submitting import Added, Wish

JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=1)]
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
        options = {"replay": replay, "fresh": fresh, "budget": budget}
        started = await _rerun(session, job, from_stage, site, statuses, options)
        said = await _started(session, job, started, statuses)
        if not (wait or report):
            session.out.show({"job_id": job, "started": started}, said)
            return 0
        if not started:
            session.out.say(said)
        from penstock.extensions.sites.commands.watch import finish

        return await finish(session, job, report)


async def _started(session: Session, job: int, started: int, statuses: str) -> str:
    """What `run` did, and where it did nothing, why."""
    from penstock.extensions.sites import views

    if started:
        return f"{counted(started, 'site')} of analysis {job} {'runs' if started == 1 else 'run'} again."
    async with session.connection() as connection:
        view = await views.analysis(connection, job)
    return not_started(view, statuses)


def _wish(urls: list[str], file: str | None, sitemap: str | None, options: dict[str, Any]) -> "Wish":
    from penstock.errors import UsageError
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
    from penstock.errors import UsageError

    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None


async def _add(session: Session, wish: "Wish", name: str | None, owner: str) -> "Added":
    from penstock.console.files.submit import Submission
    from penstock.control.acting import By
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
        from penstock.extensions.sites.commands.watch import finish

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


async def _rerun(
    session: Session, job: int, from_stage: str, site_ids: list[int] | None, statuses: str, options: dict[str, Any]
) -> int:
    from penstock.control.acting import By
    from penstock.extensions.sites import deciding, views
    from penstock.insight import items

    app = await session.app()
    async with session.connection() as connection:
        found = await views.require_analysis(connection, job)
    return await deciding.rerun(
        app,
        job,
        from_stage=from_stage,
        site_ids=site_ids,
        statuses=items.states(statuses),
        options=options,
        by=By.command_line(),
        owner=found.owner,
    )
