"""`POST /api/jobs`: files, images, rows or a reference in; an answer as soon as they are safe. `GET /api/pipelines`:
what takes them, and what can be chosen for it."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import APIRouter, Header, Request
from pydantic import Field
from starlette.datastructures import UploadFile

from penstock.console.files.room import require_room
from penstock.console.files.sources.guard import allowed_path, file_chunks
from penstock.console.files.submit import (
    Submission,
    Submitted,
    Upload,
    require_pipeline,
    submit_file,
    submit_files,
    submit_items,
)
from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.bodies import form_of, media_type, takes, text_fields, validated
from penstock.console.http.ground import Ground, Here, ground_of
from penstock.console.http.parameters import Name, Text
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import Wire
from penstock.core.define import PipelineDefinition

router = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=documented(409, 411, 413, 415, 429))
pipelines = APIRouter(prefix="/api/pipelines", tags=["jobs"], responses=documented())
_MOST_FILES = 10_000
_MOST_ITEMS = 100_000
_JSON_BYTES = 16 * 1024 * 1024
# Objects and lists in a body: each takes a hundred bytes of memory or more, and two on the wire.
_MOST_PARTS = 500_000
_READ_BYTES = 1024 * 1024
_LONG_NUMBER = re.compile(rb"\d{15,}|\d\.\d{12,}|[eE][+-]?\d{3,}")
_LONGEST_INTEGER = 20
_LONGEST_FLOAT = 400


class Options(Wire):
    """How to read a file where that should not be found out, and what the pipeline should know."""

    pipeline: Name | None = None
    name: Name | None = None
    encoding: Annotated[str, Field(max_length=50)] | None = None
    delimiter: Literal[",", ";", "\t", "|"] | None = None
    header: bool | None = None
    sheet: Name | None = None
    safe: bool = False
    options: dict[str, Any] = Field(default_factory=dict)


Chosen = TypeVar("Chosen", bound=Options)


class JsonBody(Options):
    """Either `items`, or `fileRef`: a path below one of the folders of PENSTOCK_FILE_ROOTS."""

    items: Annotated[list[dict[str, Any]], Field(max_length=_MOST_ITEMS)] | None = None
    file_ref: Text | None = None


class SubmittedBody(Wire):
    """`duplicateOf`: an earlier job of yours that was made from the very same bytes."""

    job_id: int
    created: bool
    file_id: int | None
    duplicate_of: int | None


def form_described(file: str, *, fields: Sequence[str], **more: str) -> dict[str, Any]:
    """A form for the OpenAPI document; ``more``: fields with a word about them."""
    properties: dict[str, Any] = {
        "file": {"type": "array", "items": {"type": "string", "format": "binary"}, "description": file},
        **{name: {"type": "string", "description": about} for name, about in more.items()},
        **{name: {"type": "string"} for name in fields},
    }
    return {"multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": properties}}}


_REQUEST = form_described(
    "One CSV, XLSX or zip of images, or any number of images.",
    fields=("pipeline", "name", "encoding", "delimiter", "header", "sheet", "safe", "options"),
) | {"application/json": {"schema": JsonBody.model_json_schema(ref_template="#/components/schemas/{model}")}}


@router.post(
    "",
    operation_id="submitJob",
    status_code=202,
    openapi_extra={"requestBody": {"required": True, "content": _REQUEST}},
)
@takes(json=_JSON_BYTES, form=lambda settings: settings.max_upload_bytes)
async def submit(
    request: Request,
    actor: Operator,
    idempotency_key: Annotated[
        str | None,
        Header(alias="Idempotency-Key", min_length=1, max_length=200, description="The same key gives the same job."),
    ] = None,
) -> SubmittedBody:
    """Answers as soon as the file is safe; its rows appear in the job as they are stored, with counts."""
    ground = ground_of(request)
    # Before the file is read; it is asked again in the transaction that stores the job.
    await require_room(ground.app, actor.name)
    kind = media_type(request.headers.get("content-type", ""))
    if kind == "multipart/form-data":
        done = await _files(ground, actor, request, idempotency_key)
    elif kind == "application/json":
        done = await _json(ground, actor, request, idempotency_key)
    else:
        raise Problem(415, "Send the file as multipart/form-data, or items as application/json.")
    return SubmittedBody.from_record(done)


async def _files(ground: Ground, actor: Actor, request: Request, key: str | None) -> Submitted:
    """Read to the end first: an upload that is cut leaves nothing."""
    async with form_sent(request, Options, most_files=_MOST_FILES) as (uploads, chosen):
        sent = [Upload(name=part.filename or "file", chunks=_chunks(part)) for part in uploads]
        submission = _submission(ground, actor, chosen, key, file_name=sent[0].name)
        return await submit_files(ground.app, submission, sent)


@asynccontextmanager
async def form_sent(
    request: Request, model: type[Chosen], *, most_files: int
) -> AsyncIterator[tuple[list[UploadFile], Chosen]]:
    """The files of a form and its other fields, of which `options` is JSON."""
    form = await form_of(request, most_files=most_files)
    try:
        uploads = [part for part in form.getlist("file") if isinstance(part, UploadFile)]
        if not uploads:
            raise Problem(400, "The form has no field `file` with a file in it.")
        given = text_fields(form.multi_items())
        if (text := given.pop("options", None)) is not None:
            try:
                options = orjson.loads(text.encode("utf-8", "surrogatepass"))
            except orjson.JSONDecodeError as error:
                raise Problem(422, f"options: it is not JSON ({error}).") from None
            given |= {} if options is None else {"options": options}
        yield uploads, validated(model, given)
    finally:
        await form.close()


async def _json(ground: Ground, actor: Actor, request: Request, key: str | None) -> Submitted:
    data = await request.body()
    if (parts := data.count(b"{") + data.count(b"[")) > _MOST_PARTS:
        raise Problem(413, f"The body has {parts:,} objects and lists; at most {_MOST_PARTS:,} are taken. Send a file.")
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"The body is not JSON: {error}.") from None
    if _LONG_NUMBER.search(data):
        # A number that would be stored as another one is refused; only bodies with many digits in a row are looked at.
        json.loads(data, parse_int=_exact_integer, parse_float=_exact_float)
    if not isinstance(parsed, dict):
        raise Problem(422, "body: it has to be an object with `items` or `fileRef`.")
    body = validated(JsonBody, parsed)
    if (body.items is None) == (body.file_ref is None):
        raise Problem(422, "body: give either `items` or `fileRef`.")
    if body.file_ref is not None:
        path = allowed_path(body.file_ref, ground.settings.file_roots)
        submission = _submission(ground, actor, body, key, file_name=path.name)
        return await submit_file(ground.app, submission, file_chunks(path))
    return await submit_items(ground.app, _submission(ground, actor, body, key), body.items or [])


def _exact_integer(text: str) -> int:
    # Longer ones become floats when they are stored.
    if len(text) > _LONGEST_INTEGER or abs(int(text)) >= 2**63:
        raise _altered(text)
    return int(text)


def _exact_float(text: str) -> float:
    value = float(text)
    if len(text) > _LONGEST_FLOAT or Decimal(repr(value)) != Decimal(text):
        raise _altered(text)
    return value


def _altered(text: str) -> Problem:
    return Problem(422, f"body: the number {text[:60]} cannot be kept exactly. Send it as text, in quotes.")


def _submission(ground: Ground, actor: Actor, chosen: Options, key: str | None, file_name: str = "items") -> Submission:
    read = chosen.model_dump(include={"name", "options", "encoding", "delimiter", "header", "sheet", "safe"})
    return Submission(
        **read,
        owner=actor.name,
        pipeline=chosen.pipeline or _only_pipeline(ground),
        file_name=file_name,
        ip=actor.ip,
        idempotency_key=key,
        by=actor.by,
    )


def _only_pipeline(ground: Ground) -> str:
    """Where one pipeline takes rows of files, nobody has to name it."""
    taking = [name for name, pipeline in ground.app.pipelines.items() if pipeline.takes_rows]
    if len(taking) != 1:
        known = ", ".join(sorted(taking)) or "none"
        raise Problem(422, f"pipeline: say which one should take it. Those that take rows of files: {known}.")
    return require_pipeline(ground.app, taking[0]).name


async def _chunks(part: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await part.read(_READ_BYTES):
        yield chunk


# ---------------------------------------------------------------- what files can be sent to


class PipelineOption(Wire):
    """A field of the form. `order`: some of `choices`, in the order in which they are to be taken."""

    name: str
    kind: Literal["text", "number", "flag", "order"]
    label: str
    help: str
    default: Any
    choices: list[str]


class PipelineItem(Wire):
    name: str
    about: str = Field(description="What it is for, in a sentence or two.")
    takes_rows: bool
    takes_images: bool
    roles: list[str] = Field(description="What its columns can mean; given in the option `roles` as role: heading.")
    options: list[PipelineOption]
    result_columns: list[str]


class PipelineList(Wire):
    items: list[PipelineItem]
    max_upload_bytes: int


@pipelines.get("", operation_id="listPipelines")
async def list_pipelines(ground: Here, actor: Viewer) -> PipelineList:
    """Those that files can be sent to, by name."""
    found = sorted(ground.app.pipelines.values(), key=lambda one: one.name)
    return PipelineList(
        items=[_item(one) for one in found if takes_files(one)], max_upload_bytes=ground.settings.max_upload_bytes
    )


def takes_files(pipeline: PipelineDefinition) -> bool:
    return not pipeline.internal and (pipeline.takes_rows or pipeline.takes_images)


def _item(pipeline: PipelineDefinition) -> PipelineItem:
    offer = pipeline.offer
    roles, options = ((), ()) if offer is None else (offer.roles, offer.options())
    return PipelineItem.from_record(pipeline, roles=roles, options=options)
