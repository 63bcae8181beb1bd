"""`POST /api/jobs/{jobId}/export`: a job's stored rows as a file. Nothing is looked up or computed again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from penstock.console.files.export import csv_file
from penstock.console.files.export.file_name import disposition, file_name
from penstock.console.files.export.layout import Layout, layout_of
from penstock.console.files.export.xlsx_process import CHUNK_BYTES, Written, written
from penstock.console.http.actor import Viewer
from penstock.console.http.attachment import Attachment
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.ownership import owner_of_job
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import JobId
from penstock.storage import jobs

# Each takes a core while it writes; the next ones wait for their turn.
_XLSX_AT_ONCE = 2
_LOOK_SECONDS = 0.5
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
Format = Annotated[Literal["csv", "xlsx"], Query(description="What to write.")]
Form = Annotated[
    Literal["exact", "safe"],
    Query(description="CSV: `safe` puts an apostrophe before cells that a spreadsheet would run as formulas."),
]
Bom = Annotated[bool, Query(description="CSV: begin with a byte order mark, as some spreadsheets want it.")]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment. `X-Penstock-Manifest`: how many cells the sheet `Manifest` names.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            MEDIA_TYPES["xlsx"]: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
router = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=documented())


@router.post("/{jobId}/export", operation_id="exportJob", responses=_FILE, response_class=StreamingResponse)
async def export_job(
    request: Request, actor: Viewer, job_id: JobId, format: Format = "csv", form: Form = "exact", bom: Bom = False
) -> StreamingResponse:
    """Input columns as they came in, then what was found, `Status` and `Error`; in the order of the rows. The rows are
    those that are stored now; a row says what it was when its page was read."""
    ground = ground_of(request)
    owner = await owner_of_job(ground, actor, job_id)
    await ground.note(actor.entry("job.export", kind="job", object=job_id, owner=owner, format=format, form=form))
    layout = await layout_of(ground.app, job_id)
    async with ground.app.connection() as connection:
        job = await jobs.get(connection, job_id) or {}
    headers = {
        "Content-Disposition": disposition(file_name(job_id, job, format)),
        "X-Penstock-Rows": str(layout.rows),
    }
    held = AsyncExitStack()
    if format == "csv":
        body = csv_file.stream(ground.app, layout, form=csv_file.Form(form), mark=bom)
        held.push_async_callback(body.aclose)
        return Attachment(body, held, headers, MEDIA_TYPES[format])
    file = await _turn(request, ground, layout, held)
    headers |= {"X-Penstock-Manifest": str(file.manifest), "Content-Length": str(file.size_bytes)}
    return Attachment(_chunks(file), held, headers, MEDIA_TYPES[format])


async def _turn(request: Request, ground: Ground, layout: Layout, held: AsyncExitStack) -> Written:
    """Write the whole file, unless the client goes away: then the process that writes it is ended."""
    state = request.app.state
    if not hasattr(state, "xlsx_turns"):
        state.xlsx_turns = asyncio.Semaphore(_XLSX_AT_ONCE)

    async def write() -> Written:
        async with state.xlsx_turns:
            return await held.enter_async_context(written(ground.app, layout))

    writing = asyncio.ensure_future(write())
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not writing.done():
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
    if writing.cancelled():
        await held.aclose()
        raise Problem(499, "The client went away.")
    return writing.result()


async def _left(request: Request) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(_LOOK_SECONDS)


async def _chunks(file: Written) -> AsyncIterator[bytes]:
    while chunk := file.file.read(CHUNK_BYTES):
        yield chunk
