"""`POST /api/uploads/preview`: a look at a file before it is sent. Nothing is stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.datastructures import UploadFile

from penstock.console.files.preview import (
    MOST_BYTES,
    MOST_PROBLEMS,
    Preview,
    Reading,
    Trouble,
    look,
    look_at_images,
    with_meaning,
)
from penstock.console.files.submit import require_pipeline
from penstock.console.http.actor import Operator
from penstock.console.http.bodies import media_type, takes
from penstock.console.http.ground import Ground, ground_of
from penstock.console.http.problems import Problem, documented
from penstock.console.http.routes.submit import Options, form_described, form_sent, takes_files
from penstock.console.http.wire import MOST_ID, Wire
from penstock.core.define import PipelineDefinition

router = APIRouter(prefix="/api/uploads", tags=["jobs"], responses=documented(411, 413, 415))
_HEAD_BYTES = 64 * 1024
_MOST_FILES = 200


class PreviewFields(Options):
    """As of a submission, and how large the file is of which this is the beginning."""

    size_bytes: Annotated[int, Field(ge=0, le=MOST_ID)] | None = None
    files: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class PreviewColumn(Wire):
    name: str
    role: str | None = Field(description="What the pipeline takes it for.")


class PreviewImage(Wire):
    name: str
    size_bytes: int
    problem: str | None


class PreviewProblem(Wire):
    """`row` counts rows of data from 1. `blocks`: the file would be refused, or nothing of it could be used."""

    sentence: str
    row: int | None
    column: str | None
    blocks: bool


class UploadPreview(Wire):
    """`rowsEstimate` of rows or images; null where nobody can tell yet. `whole`: all of the file was looked at."""

    kind: Literal["csv", "xlsx", "zip", "image"] | None
    pipeline: str | None = Field(description="The one asked for, else the one that understands most of it.")
    whole: bool
    encoding: str | None
    delimiter: str | None
    has_header: bool | None
    sheet: str | None
    sheets: list[str]
    columns: list[PreviewColumn]
    rows: list[list[str]] = Field(description="The first 50; long cells are cut.")
    images: list[PreviewImage]
    rows_estimate: int | None
    rows_exact: bool
    problems: list[PreviewProblem]
    more_problems: bool


_REQUEST = form_described(
    "The beginning of a table, a whole workbook or archive, or images.",
    fields=("pipeline", "encoding", "delimiter", "header", "sheet", "options"),
    sizeBytes="Of the whole file.",
    files="How many images there are in all.",
)


@router.post(
    "/preview", operation_id="previewUpload", openapi_extra={"requestBody": {"required": True, "content": _REQUEST}}
)
@takes(form=MOST_BYTES)
async def preview(request: Request, actor: Operator) -> UploadPreview:
    """What the file holds, what its columns are taken for, and what is wrong with it, by the readers of the import. The
    first megabytes of a table are enough; `sizeBytes` says how large the whole is."""
    ground = ground_of(request)
    if media_type(request.headers.get("content-type", "")) != "multipart/form-data":
        raise Problem(415, "Send the beginning of the file as multipart/form-data.")
    async with form_sent(request, PreviewFields, most_files=_MOST_FILES) as (parts, fields):
        if fields.pipeline is not None:
            require_pipeline(ground.app, fields.pipeline)
        async with ground.preview_turns:
            return await _look(ground, fields, parts)


async def _look(ground: Ground, fields: PreviewFields, parts: Sequence[UploadFile]) -> UploadPreview:
    if len(parts) > 1 or (fields.files or 1) > 1:
        heads = [(part.filename or "file", await part.read(_HEAD_BYTES)) for part in parts]
        found = look_at_images(heads, max(len(parts), fields.files or 1))
        return _body(found, _chosen(ground, fields, found), {}, whole=len(parts) == found.count)
    data = await parts[0].read()
    size_bytes = max(fields.size_bytes or 0, len(data))
    reading = Reading(**fields.model_dump(include={"encoding", "delimiter", "header", "sheet"}))
    name = parts[0].filename or "file"
    found = await asyncio.to_thread(look, data, name=name, size_bytes=size_bytes, reading=reading)
    if size_bytes > (most := ground.settings.max_upload_bytes):
        sentence = f"The file has {size_bytes:,} bytes; at most {most:,} are taken. Split it into smaller ones."
        found = replace(found, troubles=(Trouble(sentence=sentence, blocks=True), *found.troubles))
    pipeline = _chosen(ground, fields, found)
    offer = None if pipeline is None else pipeline.offer
    found, roles = await asyncio.to_thread(with_meaning, found, offer, fields.options.get("roles"))
    return _body(found, pipeline, {at: role for role, at in roles.items()}, whole=len(data) == size_bytes)


def _chosen(ground: Ground, fields: PreviewFields, found: Preview) -> PipelineDefinition | None:
    """The one that was named, else of those that take such a file the one that knows most of its columns."""
    if fields.pipeline is not None:
        return ground.app.pipelines[fields.pipeline]
    pictures = found.kind in ("zip", "image")
    fitting = [
        one
        for one in sorted(ground.app.pipelines.values(), key=lambda one: one.name)
        if takes_files(one) and (one.takes_images if pictures else one.takes_rows)
    ]

    def known(pipeline: PipelineDefinition) -> tuple[int, bool]:
        offer = pipeline.offer
        roles = {} if offer is None or offer.roles_of is None else offer.roles_of(found.columns, None)
        return len(roles), offer is not None

    return max(fitting, key=known, default=None)


def _body(found: Preview, pipeline: PipelineDefinition | None, roles: dict[int, str], *, whole: bool) -> UploadPreview:
    wrong = _unfit(found, pipeline)
    troubles = [*([] if wrong is None else [wrong]), *found.troubles]
    return UploadPreview.from_record(
        found,
        pipeline=None if pipeline is None else pipeline.name,
        whole=whole,
        columns=[PreviewColumn(name=name, role=roles.get(at)) for at, name in enumerate(found.columns)],
        images=found.pictures,
        rows_estimate=found.count,
        rows_exact=found.exact,
        problems=troubles[:MOST_PROBLEMS],
        more_problems=len(troubles) > MOST_PROBLEMS,
    )


def _unfit(found: Preview, pipeline: PipelineDefinition | None) -> Trouble | None:
    """What the submission would say."""
    if found.kind is None or pipeline is None:
        return None
    if found.kind in ("zip", "image") and not pipeline.takes_images:
        return Trouble(sentence=f"{pipeline.name} takes no images. Upload a CSV or XLSX file.", blocks=True)
    if found.kind in ("csv", "xlsx") and not pipeline.takes_rows:
        return Trouble(sentence=f"{pipeline.name} takes no rows of files.", blocks=True)
    return None
