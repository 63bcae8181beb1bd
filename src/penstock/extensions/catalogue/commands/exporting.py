"""`penstock catalogue export`"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from penstock.terminal.command import command
from penstock.terminal.files import whole_file
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.console.files.export.layout import Layout
    from penstock.terminal.progress import Progress


class FileFormat(StrEnum):
    csv = "csv"
    xlsx = "xlsx"


class CsvForm(StrEnum):
    exact = "exact"
    safe = "safe"


JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=1)]
FormatOption = Annotated[
    FileFormat | None, typer.Option("--format", help="csv or xlsx; without it, what the name of the file says.")
]
FormOption = Annotated[
    CsvForm, typer.Option("--form", help="CSV: safe puts an apostrophe before cells that would run as formulas.")
]
BomOption = Annotated[bool, typer.Option("--bom", help="CSV: begin with a byte order mark.")]
FileOption = Annotated[
    str, typer.Option("--file", metavar="FILE", help="Where to; - is the standard output.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Adds its commands to the group."""

    @command(app)
    async def export(
        session: Session,
        job: JobArgument,
        file: FileOption = "-",
        format: FormatOption = None,
        form: FormOption = CsvForm.exact,
        bom: BomOption = False,
    ) -> None:
        """The stored rows of a job as a file: what came in, what was found, and how it ended."""
        from penstock.console.files.export.layout import layout_of

        opened = await session.app()
        layout = await layout_of(opened, job)
        progress = session.out.progress(layout.rows)
        with whole_file(file) as target:
            if (format or _format_of(file)) is FileFormat.csv:
                cells = await _csv(opened, layout, target, progress, form, bom)
            else:
                cells = await _xlsx(opened, layout, target, progress)
        progress.end(layout.rows)
        if cells:
            session.out.warn(f"{cells:,} cells did not fit into their sheet; the sheet Manifest holds them.")
        if file != "-":
            data = {"job_id": job, "rows": layout.rows, "file": file, "manifest": cells}
            session.out.show(data, f"{layout.rows:,} rows of job {job} are in {file}.")


def _format_of(file: str) -> FileFormat:
    """By its name. One that says something else than what would be in it is refused."""
    from penstock.errors import InvalidSetting

    suffix = Path(file).suffix.lower().lstrip(".")
    if file == "-" or suffix in ("", "csv", "txt"):
        return FileFormat.csv
    if suffix == "xlsx":
        return FileFormat.xlsx
    raise InvalidSetting("--file", file, "its name ends neither in .csv nor in .xlsx; say which with --format")


async def _csv(
    app: "Penstock", layout: "Layout", target: BinaryIO, progress: "Progress", form: CsvForm, bom: bool
) -> int:
    from penstock.console.files.export import csv_file

    async for chunk in csv_file.stream(app, layout, form=csv_file.Form(form), mark=bom, told=progress.update):
        target.write(chunk)
    return 0


async def _xlsx(app: "Penstock", layout: "Layout", target: BinaryIO, progress: "Progress") -> int:
    from penstock.console.files.export.xlsx_process import CHUNK_BYTES, written

    async with written(app, layout, told=progress.update) as made:
        while chunk := made.file.read(CHUNK_BYTES):
            target.write(chunk)
    return made.manifest
