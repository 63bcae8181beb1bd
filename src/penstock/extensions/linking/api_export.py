"""`POST /api/projects/{projectId}/export`: the dataset with what was matched, as a file."""

import asyncio
from contextlib import AsyncExitStack, nullcontext
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from penstock.console.files.export.file_name import disposition, file_name
from penstock.console.http.actor import Viewer
from penstock.console.http.attachment import Attachment
from penstock.console.http.problems import documented
from penstock.extensions.linking import exporting
from penstock.extensions.linking.api_ground import note, parts, project_of
from penstock.extensions.linking.wire import ProjectId

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented())
# Each takes a core while it is written; the next ones wait for their turn.
_XLSX_AT_ONCE = 2
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment. `X-Penstock-Manifest`: how many cells the sheet `Manifest` names.",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in MEDIA_TYPES.values()},
    }
}
Form = Annotated[
    Literal["exact", "safe"],
    Query(description="CSV: `safe` puts an apostrophe before cells that a spreadsheet would run as formulas."),
]


@router.post("/{projectId}/export", operation_id="exportProject", responses=_FILE, response_class=StreamingResponse)
async def export(
    request: Request,
    actor: Viewer,
    project_id: ProjectId,
    format: Annotated[Literal["csv", "xlsx", "json"], Query(description="What to write.")] = "csv",
    form: Form = "exact",
    bom: Annotated[bool, Query(description="CSV: begin with a byte order mark, as some spreadsheets want it.")] = False,
) -> StreamingResponse:
    """The columns as they came in, then `match_state`, `match_id`, `match_label`, `match_score`, `match_gap`,
    `decided_by`, `decided_at`, `note`; in the order of the rows."""
    project = await project_of(request, actor, project_id)
    await note(request, actor, project, "export", format=format, form=form)
    headers = {"Content-Disposition": disposition(file_name(project.id, {"name": project.name}, format))}
    held = AsyncExitStack()
    made = exporting.export(parts(request), project, exporting.FileFormat(format), safe=form == "safe", mark=bom)
    async with _turn(request) if format == "xlsx" else nullcontext():
        file = await held.enter_async_context(made)
    if file.size_bytes is not None:
        headers |= {"X-Penstock-Manifest": str(file.manifest), "Content-Length": str(file.size_bytes)}
    return Attachment(file.chunks, held, headers, MEDIA_TYPES[format])


def _turn(request: Request) -> asyncio.Semaphore:
    state = request.app.state
    if not hasattr(state, "linking_xlsx_turns"):
        state.linking_xlsx_turns = asyncio.Semaphore(_XLSX_AT_ONCE)
    turns: asyncio.Semaphore = state.linking_xlsx_turns
    return turns
