"""`GET /api/analyses/{jobId}/report`: what was found, as a page to send."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from penstock.apps.website_analysis import reporting, views
from penstock.apps.website_analysis.deciding import require_sites
from penstock.apps.website_analysis.wire import AnalysisId
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.ownership import look_at_job
from penstock.service.problems import documented
from penstock.service.wire import MOST_ID

router = APIRouter(prefix="/api/analyses", tags=["analyses"], responses=documented())
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}
# Facts and answers are text from strangers. The page needs no script, no form and nothing from elsewhere, so it gets
# none, and an origin of its own: what it might hold all the same could not reach the session of whoever reads it.
_SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report. HTML is shown in a sandbox without scripts; the others come as attachments.",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in MEDIA_TYPES.values()},
    }
}


@router.get("/{jobId}/report", operation_id="reportAnalysis", responses=_FILE, response_class=Response)
async def report(
    request: Request,
    actor: Viewer,
    job_id: AnalysisId,
    format: Annotated[Literal["html", "md", "json", "csv"], Query(description="What to write.")] = "html",
    site_id: Annotated[
        int | None, Query(alias="siteId", ge=1, le=MOST_ID, description="Only this site; else the whole analysis.")
    ] = None,
    download: Annotated[bool, Query(description="HTML as an attachment as well.")] = False,
) -> Response:
    """Of one site all of it; of several an overview. A site that failed has a report that says why."""
    ground = ground_of(request)
    await look_at_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        await views.require_analysis(connection, job_id)
        if site_id is not None:
            await require_sites(connection, job_id, [site_id])
        text = await reporting.made(connection, job_id, site_id, format)
    name = f"report-{job_id}{'' if site_id is None else f'-{site_id}'}.{format}"
    shown = "inline" if format == "html" and not download else "attachment"
    headers = {"Content-Disposition": f'{shown}; filename="{name}"', "Content-Security-Policy": _SANDBOX}
    return Response(text, media_type=MEDIA_TYPES[format], headers=headers)
