"""For who sets a project up: how a dataset looks before it is stored, and which sources can be asked."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.datastructures import UploadFile

from penstock.console.files.preview import CAPS, MOST_BYTES
from penstock.console.files.refused import FileRefused
from penstock.console.http.actor import Operator, Viewer
from penstock.console.http.bodies import form_of, takes, text_fields, validated
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import Wire
from penstock.extensions.linking.api_ground import parts
from penstock.extensions.linking.dataset import Guess, guess, is_json, read_path
from penstock.extensions.linking.project import SOURCES, Options
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.sources.source import SourceMisconfigured
from penstock.extensions.linking.wire import options_body

router = APIRouter(prefix="/api", tags=["projects"], responses=documented())
PREVIEW_ROWS = 50
# JSON is parsed whole, and nothing else of the process runs meanwhile.
_MOST_JSON_BYTES = 4 * 1024 * 1024
_WIKIDATA_HOST = "www.wikidata.org"


class PreviewFields(Wire):
    form: Literal["exact", "safe"] = "exact"


class DatasetPreview(Wire):
    """`roles`: a guess, by names and values; columns without one have none. `more`: there are rows behind these."""

    columns: list[str]
    rows: list[dict[str, str]]
    more: bool
    roles: dict[str, Guess]


class LinkingSource(Wire):
    """`problem`: what to set before it can be asked; null: it can be. `pages`: put an id behind it for a page about the
    entity; null where the source has none that is known."""

    name: str
    host: str | None
    problem: str | None
    pages: str | None


class LinkingBody(Wire):
    sources: list[LinkingSource]
    options: dict[str, Any] = Field(description="As the settings say; a project may say otherwise.")
    per_second: float
    max_records: int


FORM = {
    "file": {"type": "string", "format": "binary", "description": "CSV, XLSX, or a .json of rows."},
    "form": {"type": "string", "enum": ["exact", "safe"], "description": "CSV: `safe` undoes a safe export."},
}
_FORM = {"type": "object", "required": ["file"], "properties": FORM}
_REQUEST = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


@router.post("/projects/preview", operation_id="previewProject", openapi_extra=_REQUEST, responses=documented(413, 415))
@takes(form=lambda settings: min(MOST_BYTES, settings.max_upload_bytes))
async def preview(request: Request, actor: Operator) -> DatasetPreview:
    """The first rows of a file and what its columns probably are. Nothing is stored. The beginning of a large CSV is
    enough: no more than these rows are read of it."""
    async with uploaded(request) as (path, called, given):
        fields: PreviewFields = validated(PreviewFields, given)
        async with ground_of(request).preview_turns:
            return await asyncio.to_thread(_looked_at, path, called.name, safe=fields.form == "safe")


@router.get("/linking", operation_id="getLinking")
async def linking(request: Request, actor: Viewer) -> LinkingBody:
    """The sources, each with what is missing before it can be asked, and how projects are matched unless they say
    otherwise."""
    shared = parts(request)
    own = shared.app.settings.of(LinkingSettings)
    return LinkingBody(
        sources=[_source(shared, name) for name in SOURCES],
        options=options_body(Options.of({}, shared.app.settings)),
        per_second=own.per_second,
        max_records=own.max_records,
    )


def _looked_at(path: Path, called: str, *, safe: bool) -> DatasetPreview:
    if is_json(called) and (size_bytes := path.stat().st_size) > _MOST_JSON_BYTES:
        raise FileRefused(
            f"the JSON has {size_bytes:,} bytes, and a look reads at most {_MOST_JSON_BYTES:,}.",
            "Make the project without a look, or bring the rows as CSV or XLSX.",
        )
    dataset = read_path(path, called, safe=safe, caps=CAPS)
    rows = list(islice(dataset.rows, PREVIEW_ROWS + 1))
    return DatasetPreview(
        columns=list(dataset.columns),
        rows=rows[:PREVIEW_ROWS],
        more=len(rows) > PREVIEW_ROWS,
        roles=guess(dataset.columns, rows[:PREVIEW_ROWS]),
    )


def _source(shared: RecordLinking, name: str) -> LinkingSource:
    """Of its address the host only, since it may hold a key."""
    own = shared.app.settings.of(LinkingSettings)
    address = own.endpoint if name == "wikidata" else own.reconciliation_url
    problem: str | None = None
    host: str | None = None
    try:
        shared.sources.get(name)
    except SourceMisconfigured as error:
        problem = str(error)
    with suppress(ValueError):  # told as its problem
        host = urlsplit(address or "").hostname
    pages = f"https://{_WIKIDATA_HOST}/wiki/" if name == "wikidata" and host == _WIKIDATA_HOST else None
    return LinkingSource(name=name, host=host, problem=problem, pages=pages)


@asynccontextmanager
async def uploaded(request: Request) -> AsyncIterator[tuple[Path, Path, Mapping[str, Any]]]:
    """A dataset as a file in a form: where it is kept while it is read, how the client named it, and the other fields
    of the form, as text."""
    form = await form_of(request, most_files=1)
    try:
        uploads = [part for part in form.getlist("file") if isinstance(part, UploadFile)]
        if len(uploads) != 1:
            raise Problem(400, "The form needs one field `file` with a CSV, XLSX or JSON file in it.")
        called = Path(uploads[0].filename or "Dataset")
        fields = text_fields(form.multi_items())
        with TemporaryDirectory(prefix="penstock-linking-") as folder:
            path = Path(folder) / "upload"
            await asyncio.to_thread(_keep, uploads[0].file, path)
            yield path, called, fields
    finally:
        await form.close()


def _keep(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as kept:
        shutil.copyfileobj(file, kept)
