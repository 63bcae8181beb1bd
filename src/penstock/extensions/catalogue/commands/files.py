"""`penstock catalogue import` and `export`"""

import asyncio
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from penstock.terminal.command import command
from penstock.terminal.files import whole_file
from penstock.terminal.session import Session
from penstock.terminal.waiting import wait_for

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


FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="CSV, XLSX, image or zip.")
]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose job it will be.")]
PipelineOption = Annotated[str, typer.Option("--pipeline", help="Which pipeline takes the rows.")]
SheetOption = Annotated[str | None, typer.Option("--sheet", help="Of an XLSX file; the first one otherwise.")]
SafeOption = Annotated[bool, typer.Option("--safe", help="Undo the apostrophes of a safe export.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until every row is processed.")]
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

_READ_BYTES = 1024 * 1024
_LOOK_SECONDS = 0.2


def register(app: typer.Typer) -> None:
    @command(app, "import")
    async def import_file(
        session: Session,
        file: FileArgument,
        owner: OwnerOption = "admin",
        pipeline: PipelineOption = "catalogue",
        sheet: SheetOption = None,
        safe: SafeOption = False,
        wait: WaitOption = False,
    ) -> int:
        """Store a file and its rows as a job, as an upload does. Workers process them."""
        from penstock.console.files.submit import Submission, submit_file
        from penstock.console.people import accounts
        from penstock.control.acting import By

        opened = await session.serving_app()
        await accounts.require_user(opened, owner)
        submission = Submission(
            owner=owner, pipeline=pipeline, file_name=file.name, sheet=sheet, safe=safe, by=By.command_line()
        )
        done = await submit_file(opened, submission, _chunks(file))
        if done.duplicate_of is not None:
            session.out.warn(f"The same bytes are already in job {done.duplicate_of}.")
        if wait:
            await _until_stored(session, opened, done.job_id)
            return await wait_for(session, done.job_id, None)
        data = {"job_id": done.job_id, "file_id": done.file_id, "duplicate_of": done.duplicate_of}
        session.out.show(data, f"{file.name} is stored as job {done.job_id}. `penstock jobs show {done.job_id}`")
        return 0

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


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            yield chunk


async def _until_stored(session: Session, app: "Penstock", job_id: int) -> None:
    """Rows of a large file are stored by a worker; until they are, the job's total still grows."""
    from penstock.console.files.progress import import_of

    progress = session.out.progress(None)
    while (found := await import_of(app, job_id)) is not None and found.open:
        progress.update(found.rows_stored)
        await asyncio.sleep(_LOOK_SECONDS)
    progress.detach()
    if found is not None and found.problem is not None:
        session.out.warn(str(found.problem.get("detail")))


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
