"""For who sets a project up: how a dataset looks before it is stored, and which sources can be asked."""

import asyncio
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request

from penstock.apps.record_linking.api_ground import parts
from penstock.apps.record_linking.api_upload import uploaded
from penstock.apps.record_linking.guessing import guess
from penstock.apps.record_linking.project import SOURCES, Options
from penstock.apps.record_linking.reading import is_json, read_path
from penstock.apps.record_linking.shapes import options_body
from penstock.apps.record_linking.shared import RecordLinking
from penstock.apps.record_linking.sources.source import SourceMisconfigured
from penstock.apps.record_linking.wire_setup import (
    DatasetPreview,
    GuessBody,
    LinkingBody,
    LinkingSource,
    PreviewFields,
)
from penstock.intake.preview import CAPS, MOST_BYTES
from penstock.intake.refused import FileRefused
from penstock.service.actor import Operator, Viewer
from penstock.service.bodies import takes, validated
from penstock.service.ground import ground_of
from penstock.service.problems import documented

router = APIRouter(prefix="/api", tags=["projects"], responses=documented())
PREVIEW_ROWS = 50
# JSON is parsed whole, and nothing else of the process runs meanwhile.
_MOST_JSON_BYTES = 4 * 1024 * 1024
_WIKIDATA_HOST = "www.wikidata.org"
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "CSV, XLSX, or a .json of rows."},
        "form": {"type": "string", "enum": ["exact", "safe"], "description": "CSV: `safe` undoes a safe export."},
    },
}
_REQUEST = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


@router.post("/projects/preview", operation_id="previewProject", openapi_extra=_REQUEST, responses=documented(413, 415))
@takes(form=lambda settings: min(MOST_BYTES, settings.max_upload_bytes))
async def preview(request: Request, actor: Operator) -> DatasetPreview:
    """The first rows of a file and what its columns probably are. Nothing is stored. The beginning of a large CSV is
    enough: no more than these rows are read of it."""
    async with uploaded(request) as upload:
        fields: PreviewFields = validated(PreviewFields, upload.fields)
        async with ground_of(request).preview_turns:
            return await asyncio.to_thread(_looked_at, upload.path, upload.called.name, safe=fields.form == "safe")


@router.get("/linking", operation_id="getLinking")
async def linking(request: Request, actor: Viewer) -> LinkingBody:
    """The sources, each with what is missing before it can be asked, and how projects are matched unless they say
    otherwise."""
    shared = parts(request)
    settings = shared.app.settings
    return LinkingBody(
        sources=[_source(shared, name) for name in SOURCES],
        options=options_body(Options.of({}, settings)),
        per_second=settings.linking_per_second,
        max_records=settings.linking_max_records,
    )


def _looked_at(path: Path, called: str, *, safe: bool) -> DatasetPreview:
    if is_json(called) and (size_bytes := path.stat().st_size) > _MOST_JSON_BYTES:
        raise FileRefused(
            f"the JSON has {size_bytes:,} bytes, and a look reads at most {_MOST_JSON_BYTES:,}.",
            "Make the project without a look, or bring the rows as CSV or XLSX.",
        )
    dataset = read_path(path, called, safe=safe, caps=CAPS)
    rows = list(islice(dataset.rows, PREVIEW_ROWS + 1))
    guessed = guess(dataset.columns, rows[:PREVIEW_ROWS])
    return DatasetPreview(
        columns=list(dataset.columns),
        rows=rows[:PREVIEW_ROWS],
        more=len(rows) > PREVIEW_ROWS,
        roles={
            column: GuessBody(role=one.role.role, property=one.role.property, because=one.because)
            for column, one in guessed.items()
        },
    )


def _source(shared: RecordLinking, name: str) -> LinkingSource:
    settings = shared.app.settings
    address = settings.linking_endpoint if name == "wikidata" else settings.linking_reconciliation_url
    problem: str | None = None
    try:
        shared.sources.get(name)
    except SourceMisconfigured as error:
        problem = str(error)
    return LinkingSource(name=name, problem=problem, **_place(name, address))


def _place(name: str, address: str | None) -> dict[str, Any]:
    """The host only: an address may hold a key."""
    host = None
    with suppress(ValueError):  # told as its problem
        host = urlsplit(address or "").hostname
    pages = f"https://{_WIKIDATA_HOST}/wiki/" if name == "wikidata" and host == _WIKIDATA_HOST else None
    return {"host": host, "pages": pages}
