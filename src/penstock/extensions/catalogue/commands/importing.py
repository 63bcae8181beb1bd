"""`penstock catalogue import`"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session
from penstock.terminal.waiting import wait_for

if TYPE_CHECKING:
    from penstock.application import Penstock

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="CSV, XLSX, image or zip.")
]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose job it will be.")]
PipelineOption = Annotated[str, typer.Option("--pipeline", help="Which pipeline takes the rows.")]
SheetOption = Annotated[str | None, typer.Option("--sheet", help="Of an XLSX file; the first one otherwise.")]
SafeOption = Annotated[bool, typer.Option("--safe", help="Undo the apostrophes of a safe export.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until every row is processed.")]

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
