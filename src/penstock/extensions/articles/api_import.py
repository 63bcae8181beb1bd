"""`POST /api/articles/import`: many articles in one file. Answered when all of them are stored."""

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.datastructures import UploadFile

from penstock.console.files.room import require_room
from penstock.console.http.actor import Operator
from penstock.console.http.bodies import form_of, media_type, takes, text_fields, validated
from penstock.console.http.ground import Here
from penstock.console.http.parameters import Flag
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import Wire
from penstock.extensions.articles.api_access import Parts
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.drafts import Refusal
from penstock.extensions.articles.importing import import_path

router = APIRouter(prefix="/api/articles", tags=["articles"], responses=documented(409, 413, 415, 429))
# More comes by `penstock articles import`, which needs no request to stay open.
_MOST_BYTES = 256 * 1024 * 1024
_REFUSED_SHOWN = 100
_FILE = "A .csv with the columns title and content, a .md, or a .zip of .md files."
_SOURCE = "What the articles are known by, instead of the name of the file."
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": _FILE},
        "visibility": {"type": "string", "enum": ["private", "shared"]},
        "skipEmbedding": {"type": "string", "enum": ["true", "false"]},
        "source": {"type": "string", "maxLength": 200, "description": _SOURCE},
    },
}
_REQUEST = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class ImportOptions(Wire):
    """`visibility`: of articles whose row does not say it. `source`: what they are known by, instead of the file."""

    visibility: Visibility = Visibility.PRIVATE
    skip_embedding: Flag = False
    source: str | None = None


class ImportedBody(Wire):
    """`refused`: the first hundred that were left out, with the reason."""

    job_id: int | None = Field(description="Of the embeddings; null where nothing has to be embedded.")
    created: int
    updated: int
    unchanged: int
    refused: list[Refusal]
    refused_count: int
    not_embedded: int = Field(description="Embeddings that failed in the request, where there is no queue.")


@router.post("/import", operation_id="importArticles", status_code=202, openapi_extra=_REQUEST)
@takes(form=lambda settings: min(_MOST_BYTES, settings.max_upload_bytes))
async def import_articles(request: Request, ground: Here, parts: Parts, actor: Operator) -> ImportedBody:
    """What was imported before is updated where it differs. What cannot be taken is answered in `refused`, and the
    others are stored; their embeddings are one job."""
    # Before the body is read.
    await require_room(ground.app, actor.name)
    if media_type(request.headers.get("content-type", "")) != "multipart/form-data":
        raise Problem(415, "Send the file as multipart/form-data, in a field `file`.")
    form = await form_of(request, most_files=1)
    try:
        uploads = [part for part in form.getlist("file") if isinstance(part, UploadFile)]
        if len(uploads) != 1:
            raise Problem(400, "The form needs one field `file` with a .csv, .md or .zip file in it.")
        options: ImportOptions = validated(ImportOptions, _typed(text_fields(form.multi_items())))
        with TemporaryDirectory(prefix="penstock-articles-") as folder:
            path = Path(folder) / "upload"
            await asyncio.to_thread(_keep, uploads[0].file, path)
            done = await import_path(
                parts,
                path,
                owner=actor.name,
                visibility=options.visibility,
                skip_embedding=options.skip_embedding,
                name=uploads[0].filename or "file",
                source=options.source,
            )
    finally:
        await form.close()
    told = {"file": uploads[0].filename, "created": done.created, "updated": done.updated}
    await ground.note(actor.entry("articles.import", kind="articles", owner=actor.name, **told))
    return ImportedBody.from_record(done, refused=done.refused[:_REFUSED_SHOWN])


def _keep(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as kept:
        shutil.copyfileobj(file, kept)


def _typed(given: dict[str, str]) -> dict[str, str | bool]:
    """A form has only text; what is no truth value stays one, and is refused with its name."""
    typed: dict[str, str | bool] = dict(given)
    if (text := given.get("skipEmbedding", "").lower()) in ("true", "false"):
        typed["skipEmbedding"] = text == "true"
    return typed
