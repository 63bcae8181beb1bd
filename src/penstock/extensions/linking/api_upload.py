"""A dataset as a file in a form: kept in a folder of its own while it is read."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from fastapi import Request
from starlette.datastructures import UploadFile

from penstock.console.http.bodies import form_of, text_fields
from penstock.console.http.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """``called``: as the client named the file. ``fields``: the others of the form, as text."""

    path: Path
    called: Path
    fields: Mapping[str, Any]


@asynccontextmanager
async def uploaded(request: Request) -> AsyncIterator[Upload]:
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
            yield Upload(path=path, called=called, fields=fields)
    finally:
        await form.close()


def _keep(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as kept:
        shutil.copyfileobj(file, kept)
