"""Takes work in: a file, several images, or rows. When this returns, it is safe; the rest follows from the database.

A file is stored first, byte by byte as it came; what can be seen to be wrong with it is told at once. Then job, import
and the task that reads the rows appear in one transaction.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from penstock.application import Penstock
from penstock.console.files import csv_rows, files, kinds, xlsx_rows
from penstock.console.files.export.formulas import unguard
from penstock.console.files.files import StoredFile, plain_name
from penstock.console.files.refused import FileRefused
from penstock.console.files.room import require_room
from penstock.console.storage import files as file_table
from penstock.control.acting import By
from penstock.core.define import PipelineDefinition
from penstock.core.enqueue import EnqueueOptions, create_job, encoded_rows, prepare
from penstock.core.payload import clean_text
from penstock.core.registering import first_stage
from penstock.errors import UnknownTask, UsageError
from penstock.model import MAX_INPUT_BYTES
from penstock.storage import audit, imports, jobs, tasks

IMPORT = "penstock.import"
# A file of one chunk may hold half a million tiny rows: such a one is for a worker, too.
_AT_ONCE_ROWS = 20_000
_MOST_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What is asked for, and how the file is to be read where it should not be found out."""

    owner: str
    pipeline: str
    file_name: str = "file"
    ip: str | None = None
    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None
    # Who does it, for the audit log.
    by: By | None = None
    # Undo the apostrophes that a *safe* export has put before what looks like a formula.
    safe: bool = False

    @property
    def stored_key(self) -> str | None:
        """Two users may choose the same key."""
        if self.idempotency_key is None:
            return None
        return hashlib.sha256(f"{self.owner}\0{self.idempotency_key}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """``created`` is false where the idempotency key had been used before. ``duplicate_of``: an earlier job of the same
    owner from the same bytes."""

    job_id: int
    created: bool
    file_id: int | None = None
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    name: str
    chunks: AsyncIterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recognised:
    """``inputs``: all of them, where the file is small enough to be stored at once; else a worker reads it."""

    kind: str
    columns: tuple[str, ...]
    shape: Mapping[str, Any]
    inputs: list[str] | None = None


async def submit_file(app: Penstock, submission: Submission, chunks: AsyncIterable[bytes]) -> Submitted:
    return await submit_files(app, submission, [Upload(name=submission.file_name, chunks=chunks)])


async def submit_files(app: Penstock, submission: Submission, uploads: Sequence[Upload]) -> Submitted:
    """One table, one zip of images, or any number of images."""
    pipeline = require_pipeline(app, submission.pipeline)
    if (earlier := await earlier_of(app, submission)) is not None:
        return earlier
    # Before the file is read; the options are checked again where the job is stored.
    pipeline.job_metadata({"options": submission.options})
    stored: list[StoredFile] = []
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        try:
            for number, upload in enumerate(uploads):
                stored.append(await _stored(app, submission, upload, Path(folder) / str(number)))
            found = await _recognise(pipeline, submission, stored, Path(folder) / "0")
            return await _create(app, pipeline, submission, found, stored)
        except BaseException:
            await files.discard(app, *(one.id for one in stored))
            raise


async def _stored(app: Penstock, submission: Submission, upload: Upload, path: Path) -> StoredFile:
    name = plain_name(upload.name)

    def copy_to(head: bytes) -> Path | None:
        """What is no file of ours is refused before the rest of it is read."""
        return path if kinds.kind_of(head, name) in ("xlsx", "zip") else None

    return await files.store(app, upload.chunks, owner=submission.owner, name=name, ip=submission.ip, copy_to=copy_to)


async def _recognise(
    pipeline: PipelineDefinition, submission: Submission, stored: Sequence[StoredFile], copy: Path
) -> _Recognised:
    found = [kinds.kind_of(one.head, one.name) for one in stored]
    if len(stored) > 1 and (strange := [n for n, kind in enumerate(found) if kind != "image"]):
        raise FileRefused(
            f"{stored[strange[0]].name!r} is not an image, and several files at once have to be images.",
            "Upload tables one by one.",
        )
    if found[0] in ("image", "zip"):
        if not pipeline.takes_images:
            raise FileRefused(f"{pipeline.name} takes no images.", "Upload a CSV or XLSX file.")
        listed = [input_of_image(number, one.id, one.name) for number, one in enumerate(stored, start=1)]
        return _Recognised(kind="images", columns=("Image",), shape={}, inputs=listed if found[0] == "image" else None)
    if not pipeline.takes_rows:
        raise FileRefused(f"{pipeline.name} takes no rows of files.", "Send its items as JSON.")
    return await asyncio.to_thread(_table, found[0], submission, stored[0], copy)


def _table(kind: str, submission: Submission, stored: StoredFile, copy: Path) -> _Recognised:
    if kind == "xlsx":
        sheet = xlsx_rows.shape_of_file(copy, sheet=submission.sheet, header=submission.header)
        return _Recognised(kind="xlsx", columns=tuple(sheet.columns), shape=asdict(sheet))
    shape = csv_rows.shape_of_head(
        stored.head,
        whole=stored.whole,
        encoding=submission.encoding,
        delimiter=submission.delimiter,
        header=submission.header,
    )
    columns = tuple(unguard(one) for one in shape.columns) if submission.safe else shape.columns
    found = _Recognised(kind="csv", columns=columns, shape={**asdict(shape), "safe": submission.safe})
    if not stored.whole:
        return found
    chunks = iter((stored.head, b""))
    rows = csv_rows.read(lambda: next(chunks), shape)
    some = list(islice(inputs_of_rows(rows, safe=submission.safe), _AT_ONCE_ROWS + 1))
    return replace(found, inputs=some) if len(some) <= _AT_ONCE_ROWS else found


async def _create(
    app: Penstock,
    pipeline: PipelineDefinition,
    submission: Submission,
    found: _Recognised,
    stored: Sequence[StoredFile],
) -> Submitted:
    first = stored[0]
    metadata = _metadata(pipeline, submission, found.kind, found.columns) | {
        "file_id": first.id,
        "file_name": first.name if len(stored) == 1 else f"{first.name} and {len(stored) - 1:,} more",
    }
    importing = app.pipelines.get(IMPORT) or PipelineDefinition(IMPORT)
    async with app.connection() as connection, connection.transaction():
        rows = 0 if found.inputs is None else len(found.inputs)
        job_id, created = await _new_job(app, connection, pipeline, submission, metadata, rows)
        if not created:
            await file_table.discard(connection, [one.id for one in stored])
            return Submitted(job_id=job_id, created=False)
        duplicate = await file_table.earlier_job(connection, owner=submission.owner, sha256=first.sha256, but=first.id)
        await file_table.belong(connection, [one.id for one in stored], job_id)
        await imports.create(connection, job_id=job_id, file_id=first.id, kind=found.kind, shape=found.shape)
        if found.inputs is not None:
            # A small file: its rows are there when the answer is.
            why, size_bytes = "a small file: stored at once", sum(one.size_bytes for one in stored)
            await imports.advance(connection, job_id, before=0, rows=rows, bytes_read=size_bytes, why=why)
            options = EnqueueOptions(owner=submission.owner, job_id=job_id)
            await app.store_rows(connection, pipeline, found.inputs, options)
            await imports.finish(connection, job_id, "stored")
        else:
            # The owner's lane: files of one person do not hold up those of another.
            options = EnqueueOptions(owner=submission.owner)
            await first_stage(app, connection, importing)
            task_id, _ = await tasks.enqueue(connection, prepare(importing, {"job": job_id}, options))
            await imports.assign(connection, job_id, task_id)
    return Submitted(job_id=job_id, created=True, file_id=first.id, duplicate_of=duplicate)


async def submit_items(
    app: Penstock, submission: Submission, items: Sequence[Mapping[str, Any]], *, kind: str = "rows"
) -> Submitted:
    """Items as JSON, all or none, stored when this returns. ``kind``: what lists of jobs call them."""
    pipeline = require_pipeline(app, submission.pipeline)
    if not items:
        raise UsageError("There are no items. Send at least one.")
    if (earlier := await earlier_of(app, submission)) is not None:
        return earlier
    columns = _columns(items) if pipeline.takes_rows else ()
    if len(items) * len(columns) > _MOST_CELLS:
        cells = f"{len(items):,} items with {len(columns):,} different keys are {len(items) * len(columns):,} cells"
        raise UsageError(f"{cells}; at most {_MOST_CELLS:,} are taken at once. Send fewer items, or a file.")
    rows: Iterable[Mapping[str, Any]] = _as_rows(items, columns) if pipeline.takes_rows else items
    # In a thread: a hundred thousand items take a second or more.
    encoded = await asyncio.to_thread(lambda: list(encoded_rows(pipeline, rows)))
    metadata = _metadata(pipeline, submission, kind, columns)
    async with app.connection() as connection, connection.transaction():
        job_id, created = await _new_job(app, connection, pipeline, submission, metadata, len(encoded))
        if created:
            await app.store_rows(connection, pipeline, encoded, EnqueueOptions(owner=submission.owner, job_id=job_id))
    return Submitted(job_id=job_id, created=created)


def require_pipeline(app: Penstock, name: str) -> PipelineDefinition:
    pipeline = app.pipelines.get(name)
    if pipeline is None or pipeline.internal:
        raise UnknownTask(name, [known for known, one in app.pipelines.items() if not one.internal])
    return pipeline


async def earlier_of(app: Penstock, submission: Submission) -> Submitted | None:
    """The same key gives the same job, without reading the file again."""
    if submission.stored_key is None:
        return None
    async with app.connection() as connection:
        job = await jobs.by_idempotency_key(connection, submission.pipeline, submission.stored_key)
    return None if job is None else Submitted(job_id=job, created=False)


async def _new_job(
    app: Penstock,
    connection: Any,
    pipeline: PipelineDefinition,
    submission: Submission,
    metadata: Mapping[str, Any],
    rows: int,
) -> tuple[int, bool]:
    """``rows``: how many are stored with it at once."""
    name = submission.name or metadata.get("file_name")
    await require_room(app, submission.owner, connection=connection, adding=rows)
    job_id, created = await create_job(
        connection,
        pipeline,
        name=None if name is None else clean_text(name, 200),
        owner=submission.owner,
        idempotency_key=submission.stored_key,
        metadata=metadata,
    )
    if created and submission.by is not None:
        entry = submission.by.entry("job.submit", kind="job", object=job_id, owner=submission.owner)
        await audit.append(connection, entry)
    return job_id, created


def _metadata(
    pipeline: PipelineDefinition, submission: Submission, kind: str, columns: Sequence[str]
) -> dict[str, Any]:
    return {
        "type": kind,
        "columns": list(columns),
        "result_columns": list(pipeline.result_columns),
        "ip": submission.ip,
        "options": dict(submission.options),
    }


def _columns(items: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every key, in the order in which they first come."""
    seen: dict[str, None] = {}
    for item in items:
        seen.update(dict.fromkeys(item))
    if len(seen) > csv_rows.MOST_COLUMNS:
        raise UsageError(f"The items have {len(seen):,} different keys; at most {csv_rows.MOST_COLUMNS:,} are taken.")
    return tuple(seen)


def _as_rows(items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    for number, item in enumerate(items, start=1):
        yield {"row": number, "cells": [_cell(item.get(column)) for column in columns]}


def _cell(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case _:
            return orjson.dumps(value).decode()


_LONG_ROW = "Shorten its cells, or leave out columns that are not needed."


def inputs_of_rows(rows: Iterable[list[str]], *, safe: bool, skip: int = 0) -> Generator[str]:
    """Numbered from 1, as people see them. ``safe``: undo the apostrophes of a *safe* export. ``skip``: rows that are
    stored already."""
    dumps = orjson.dumps
    for number, cells in enumerate(rows, start=1):
        if number <= skip:
            continue
        text = dumps({"row": number, "cells": [unguard(cell) for cell in cells] if safe else cells})
        if len(text) > MAX_INPUT_BYTES:
            problem = f"it is {len(text):,} bytes long; at most {MAX_INPUT_BYTES:,} are kept."
            raise FileRefused(problem, _LONG_ROW, row=number)
        yield text.decode()


def input_of_image(row: int, file_id: int, name: str) -> str:
    return orjson.dumps({"row": row, "image": {"file_id": file_id, "name": name}}).decode()
