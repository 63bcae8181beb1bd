"""`penstock sites report`"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session


class ReportFormat(StrEnum):
    html = "html"
    md = "md"
    json = "json"
    csv = "csv"


JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=1)]
FormatOption = Annotated[
    ReportFormat | None, typer.Option("--format", help="Without it, what the name of the file says; else html.")
]
SiteOption = Annotated[int | None, typer.Option("--site", metavar="ID", min=1, help="Only this site.")]
FileOption = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="Where to; - is the standard output.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def report(
        session: Session, job: JobArgument, format: FormatOption = None, site: SiteOption = None, file: FileOption = "-"
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


async def written(
    session: Session, job: int, path: Path, *, site: int | None = None, format: ReportFormat | None = None
) -> None:
    """The file appears when it is whole."""
    from penstock.errors import UsageError

    text = await _made(session, job, site, format or _format_of(path))
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None


def _format_of(path: Path) -> ReportFormat:
    from penstock.errors import InvalidSetting

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
