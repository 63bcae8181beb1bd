"""`penstock sites status`, `penstock sites models` and `penstock sites report`"""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.errors import InvalidSetting, UsageError
from penstock.observe.wording import counted
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import LimitOption, show_page
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.budgets import BudgetState
    from penstock.extensions.sites.findings import Share
    from penstock.extensions.sites.views import AnalysisView, SiteView

SiteOption = Annotated[int | None, typer.Option("--site", metavar="ID", min=1, help="Only this site.")]
FileOption = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="Where to; - is the standard output.")]
JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=1)]
OneArgument = Annotated[int | None, typer.Argument(metavar="JOB", min=1, help="One analysis; all of them otherwise.")]
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
_NARROWEST = 40
_NAMED_SITES = 5
SHOWN_FAILURES = 3


class ReportFormat(StrEnum):
    html = "html"
    md = "md"
    json = "json"
    csv = "csv"


FormatOption = Annotated[
    ReportFormat | None, typer.Option("--format", help="Without it, what the name of the file says; else html.")
]


def register(app: typer.Typer) -> None:
    @command(app)
    async def status(
        session: Session,
        job: OneArgument = None,
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

    @command(app)
    async def report(
        session: Session,
        job: JobArgument,
        format: FormatOption = None,
        site: SiteOption = None,
        file: FileOption = "-",
    ) -> None:
        """The report of an analysis, or of one of its sites, as a page to send."""
        if file == "-":
            text = await _made(session, job, site, format or ReportFormat.html)
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        path = Path(file)
        await written(session, job, path, site=site, format=format)
        session.out.show({"job_id": job, "site_id": site, "file": file}, f"The report is in {file}.")


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
        sites, page = await views.site_page(connection, job, after=views.behind(after), limit=limit)
        budget = await budgets.standing(connection, job)
    rows = [_site(one) for one in sites]
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
    if told := notes(session, [(one.site_id, one.error or one.why) for one in sites]):
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


async def written(
    session: Session, job: int, path: Path, *, site: int | None = None, format: ReportFormat | None = None
) -> None:
    """The file appears when it is whole."""
    text = await _made(session, job, site, format or _format_of(path))
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def _format_of(path: Path) -> ReportFormat:
    suffix = path.suffix.lower().lstrip(".").replace("htm", "html").replace("htmll", "html")
    if suffix not in ReportFormat.__members__:
        raise InvalidSetting("--file", str(path), "its name ends in none of .html, .md, .json, .csv; use --format")
    return ReportFormat(suffix)


async def _made(session: Session, job: int, site: int | None, format: ReportFormat) -> str:
    from penstock.extensions.sites import deciding, reporting, views

    async with session.connection() as connection:
        await views.require_analysis(connection, job)
        if site is not None:
            await deciding.require_sites(connection, job, [site])
        return await reporting.made(connection, job, site, format.value)


if TYPE_CHECKING:
    from penstock.extensions.sites.views import AnalysisView, SiteView


def approval(job: int) -> str:
    """What to do about an analysis that waits for a person."""
    shown = f"penstock sites prompts {job}"
    return f"`{shown}` shows the prompts, `{shown} --approve` lets models be asked"


def failures(view: "AnalysisView", shown: Iterable["SiteView"]) -> list[str]:
    """Why sites failed, each with its whole sentence, and how to go on."""
    job, count = view.job_id, view.counts.error
    lines = [f"{clean(site.url)}: {clean(site.error or 'no reason was recorded.')}" for site in shown]
    if not lines:
        return []
    if count > len(lines):
        lines.append(f"{count - len(lines):,} more failed: `penstock sites status {job}` shows them.")
    again = f"penstock sites run {job}" + ("" if view.counts.total == 1 else " --statuses error")
    return [*lines, f"When the cause is mended: `{again}`."]


def not_started(view: "AnalysisView", statuses: str) -> str:
    """Why `run` started nothing."""
    job, counts = view.job_id, view.counts
    said = f"No site of analysis {job} was started"
    if view.waits_for_approval:
        return f"{said}: it waits for approval of its prompts. {approval(job)}."
    if open_still := counts.total - counts.finished:
        verb = "has" if open_still == 1 else "have"
        return (
            f"{said}: {counted(open_still, 'site')} {verb} not ended yet, and only what has ended can run again. "
            f"`penstock sites status {job}` shows where it stands; `penstock jobs cancel {job}` ends it now."
        )
    ended = "its site did not end" if counts.total == 1 else f"none of its {counts.total:,} sites ended"
    return f"{said}: {ended} as {statuses}. Choose others with --statuses."


def notes(session: Session, found: Iterable[tuple[int, str | None]]) -> str:
    """What sites wait for or failed with, whole: sites with the same sentence together."""
    sites: dict[str, list[int]] = {}
    for site_id, note in found:
        if note:
            sites.setdefault(clean(" ".join(note.split())), []).append(site_id)
    return "\n".join(_wrapped(session, f"{_named(ids)}: {note}") for note, ids in sites.items())


def _named(ids: list[int]) -> str:
    if len(ids) == 1:
        return f"site {ids[0]}"
    more = f" and {len(ids) - _NAMED_SITES:,} more" if len(ids) > _NAMED_SITES else ""
    return f"sites {', '.join(map(str, ids[:_NAMED_SITES]))}{more}"


def _wrapped(session: Session, text: str) -> str:
    """On a terminal at words; elsewhere one line each, for programs that look for them."""
    if not session.out.stdout.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
