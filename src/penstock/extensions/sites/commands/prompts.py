"""`penstock sites prompts`: see, edit and approve what models will be asked."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.extensions.sites.commands.status import JobArgument
from penstock.observe.wording import counted
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.views import SiteView

SiteOption = Annotated[int | None, typer.Option("--site", metavar="ID", min=1, help="Where the analysis has several.")]
EditOption = Annotated[
    str | None, typer.Option("--edit", metavar="FILE", help="One prompt per line, instead of all; - is the input.")
]
ApproveOption = Annotated[bool, typer.Option("--approve", help="Models may be asked: about all that wait, or --site.")]
_ENDINGS = {"failed": "failed", "cancelled": "was cancelled"}
_COLUMNS = (
    Column(key="kind", title="kind"),
    Column(key="text", title="prompt", show=lambda value: short(value, 90)),
    Column(key="fact", title="from", show=lambda value: short(value, 40) or "–"),
)


def register(app: typer.Typer) -> None:
    @command(app)
    async def prompts(
        session: Session,
        job: JobArgument,
        site: SiteOption = None,
        edit: EditOption = None,
        approve: ApproveOption = False,
    ) -> None:
        """The prompts of a site: show them, put others in their place, or approve them."""
        if edit is not None:
            await _edit(session, job, site, edit)
        if approve:
            await _approve(session, job, site)
        elif edit is None:
            await _show(session, job, site)


async def chosen_site(session: Session, job: int, site: int | None) -> int:
    """The one that was named, or the only one."""
    from penstock.extensions.sites import deciding, views

    async with session.connection() as connection:
        await views.require_analysis(connection, job)
        if site is not None:
            return (await deciding.require_sites(connection, job, [site]))[0]
        only = await views.only_site(connection, job)
    if only is None:
        raise UsageError(f"Analysis {job} has several sites. Say which with --site; `penstock sites status {job}`.")
    return only


async def _show(session: Session, job: int, site: int | None) -> None:
    from penstock.extensions.sites import views

    chosen = await chosen_site(session, job, site)
    async with session.connection() as connection:
        found = await views.details(connection, chosen)
    rows = [prompt.as_json() for prompt in found.next_prompts or found.prompts]
    session.out.table(rows, _COLUMNS, empty=_none(found.site))


def _none(site: "SiteView") -> str:
    """Why there are no prompts, and what brings some."""
    if not site.state.finished:
        return f"Site {site.site_id} has no prompts yet: it is at {site.current_step}. Look again when it is further."
    reason = f" {clean(site.error)}" if site.error else ""
    again = f"`penstock sites run {site.job_id} --site {site.site_id}` runs it again."
    ended = _ENDINGS.get(site.current_step, "ended")
    return f"Site {site.site_id} has no prompts: it {ended} before any were formed.{reason} {again}"


async def _edit(session: Session, job: int, site: int | None, file: str) -> None:
    from penstock.extensions.sites import deciding

    texts = _lines(file)
    chosen = await chosen_site(session, job, site)
    kept = await deciding.edit_prompts(await session.app(), job, chosen, texts, by=By.command_line())
    data = {"site_id": chosen, "prompts": [prompt.as_json() for prompt in kept]}
    session.out.show(data, f"Site {chosen} has {counted(len(kept), 'prompt')} now.")


def _lines(file: str) -> list[str]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from None
    return [line for line in text.splitlines() if line.strip()]


async def _approve(session: Session, job: int, site: int | None) -> None:
    from penstock.extensions.sites import deciding

    sites = None if site is None else [site]
    count = await deciding.approve(await session.app(), job, sites, by=By.command_line())
    said = f"{counted(count, 'site')} of analysis {job} {'is' if count == 1 else 'are'} approved."
    if not count:
        said = (
            f"No site of analysis {job} was waiting for approval. `penstock sites status {job}` shows where they stand."
        )
    session.out.show({"job_id": job, "approved": count}, said)
