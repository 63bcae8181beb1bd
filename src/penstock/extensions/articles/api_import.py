"""`POST /api/articles/import`: many articles in one file. Answered when all of them are stored."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile

from penstock.console.files.room import require_room
from penstock.console.http.actor import Operator
from penstock.console.http.bodies import form_of, media_type, takes, text_fields, validated
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import Problem, documented
from penstock.extensions.articles.api_access import parts
from penstock.extensions.articles.importing import import_path
from penstock.extensions.articles.wire import ImportedBody, ImportOptions

router = APIRouter(prefix="/api/articles", tags=["articles"], responses=documented(409, 413, 415, 429))
# More comes by `penstock articles import`, which needs no request to stay open.
_MOST_BYTES = 256 * 1024 * 1024
_REFUSED_SHOWN = 100
_REQUEST = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "A .csv with the columns title and content, a .md, or a .zip of .md files.",
                        },
                        "visibility": {"type": "string", "enum": ["private", "shared"]},
                        "skipEmbedding": {"type": "string", "enum": ["true", "false"]},
                        "source": {
                            "type": "string",
                            "maxLength": 200,
                            "description": "What the articles are known by, instead of the name of the file.",
                        },
                    },
                }
            }
        },
    }
}


@router.post("/import", operation_id="importArticles", status_code=202, openapi_extra=_REQUEST)
@takes(form=lambda settings: min(_MOST_BYTES, settings.max_upload_bytes))
async def import_articles(request: Request, actor: Operator) -> ImportedBody:
    """What was imported before is updated where it differs. What cannot be taken is answered in `refused`, and the
    others are stored; their embeddings are one job."""
    ground = ground_of(request)
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
                parts(request),
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
    return ImportedBody.model_validate(replace(done, refused=done.refused[:_REFUSED_SHOWN]), from_attributes=True)


def _keep(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as kept:
        shutil.copyfileobj(file, kept)


def _typed(given: dict[str, str]) -> dict[str, str | bool]:
    """A form has only text; what is no truth value stays one, and is refused with its name."""
    typed: dict[str, str | bool] = dict(given)
    if (text := given.get("skipEmbedding", "").lower()) in ("true", "false"):
        typed["skipEmbedding"] = text == "true"
    return typed
