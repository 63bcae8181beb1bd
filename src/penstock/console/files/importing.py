"""Reads a stored file and stores its rows as tasks, batch by batch, until the file ends or a row cannot be read.

Each batch and the place behind it are one transaction, so an import that is killed goes on where it was: no row twice,
none left out. While one batch is being stored, a thread reads the next one.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.adaptation.ingest_batch import IngestBatch
from penstock.application import Penstock
from penstock.console.files import csv_rows, files, xlsx_rows, zip_images
from penstock.console.files.csv_shape import CsvShape
from penstock.console.files.refused import FileRefused
from penstock.console.files.room import has_room
from penstock.console.files.submit import IMPORT, input_of_image, inputs_of_rows, require_pipeline
from penstock.console.files.xlsx_rows import XlsxShape
from penstock.console.storage import files as file_table
from penstock.core.context import Context
from penstock.core.enqueue import EnqueueOptions
from penstock.core.payload import clean_text
from penstock.model import Cancel, Snooze
from penstock.storage import imports
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.imports import Import

# ---------------------------------------------------------------- batches of rows, read in a thread

# Parsing holds the GIL, but not the event loop.
_READ_SECONDS = 60.0
_NAMED = 5


@dataclass(frozen=True, slots=True)
class NewImage:
    """An image out of a zip: it becomes a file of its own in the transaction that makes it a task."""

    row: int
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """``last``: nothing follows; ``refused`` says so where that is not the end of the file."""

    rows: list[str] | list[NewImage]
    size_bytes: int
    bytes_read: int
    last: bool
    refused: FileRefused | None = None

    async def inputs(self, connection: Any, found: Import) -> list[str]:
        """As tasks take them. Images are stored on the way."""
        made: list[str] = []
        for row in self.rows:
            if isinstance(row, str):
                made.append(row)
            else:
                name = files.plain_name(row.name)
                file_id = await files.store_image(
                    connection, owner=found.owner, name=name, data=row.data, job_id=found.job_id
                )
                made.append(input_of_image(row.row, file_id, name))
        return made


class Batches:
    """One reader per import; ``next`` is called by one caller at a time."""

    def __init__(self, app: Penstock, found: Import) -> None:
        self._app = app
        self._found = found
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-import")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._rows: Generator[str | NewImage] | None = None
        self._chunk = 0
        self._bytes = 0
        # What a zip holds beside images, with the reasons; the first ones are enough to see what it is.
        self.left_out: list[str] = []
        self.left_out_count = 0

    async def next(self, size: IngestBatch) -> Batch:
        if self._rows is None:
            self._rows = await self._open()
        return await self._loop.run_in_executor(self._thread, self._take, size)

    async def close(self) -> None:
        def end() -> None:
            if self._rows is not None:
                self._rows.close()

        await self._loop.run_in_executor(self._thread, end)
        self._thread.shutdown(wait=False)
        if self._folder is not None:
            await asyncio.to_thread(self._folder.cleanup)

    def _take(self, size: IngestBatch) -> Batch:
        """In the thread: up to a batch of rows and bytes."""
        assert self._rows is not None
        taken: list[Any] = []
        total, last, refused = 0, True, None
        try:
            for row in self._rows:
                taken.append(row)
                total += len(row) if isinstance(row, str) else len(row.data)
                if len(taken) >= size.rows or total >= size.max_bytes:
                    last = False
                    break
        except FileRefused as error:
            refused = error
        return Batch(rows=taken, size_bytes=total, bytes_read=self._bytes, last=last, refused=refused)

    async def _open(self) -> Generator[str | NewImage]:
        found = self._found
        shape = dict(found.shape)
        if found.kind == "csv":
            safe = bool(shape.pop("safe", False))
            shape["columns"] = tuple(shape["columns"])
            rows = csv_rows.read(self._next_chunk, CsvShape(**shape))
            return inputs_of_rows(rows, safe=safe, skip=found.rows_stored)
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-")
        path = Path(self._folder.name) / "file"
        await files.spool(self._app, found.file_id, path, job_id=found.job_id)
        if found.kind == "images":
            return self._unpacked(path)
        return inputs_of_rows(xlsx_rows.read(path, XlsxShape(**shape)), safe=False, skip=found.rows_stored)

    def _unpacked(self, path: Path) -> Generator[NewImage]:
        for number, image in enumerate(zip_images.entries(path, skipped=self._leave_out), start=1):
            if number > self._found.rows_stored:
                yield NewImage(number, image.name, image.data)

    def _leave_out(self, entry: zip_images.ZipSkipped) -> None:
        self.left_out_count += 1
        if len(self.left_out) < _NAMED:
            self.left_out.append(f"{entry.name} ({entry.reason})")

    def _next_chunk(self) -> bytes:
        """Called in the thread; the database is asked by the loop."""
        number, self._chunk = self._chunk, self._chunk + 1
        return asyncio.run_coroutine_threadsafe(self._read(number), self._loop).result(_READ_SECONDS)

    async def _read(self, number: int) -> bytes:
        async with self._app.connection() as connection:
            chunk = await file_table.read_chunk(connection, self._found.file_id, number, job_id=self._found.job_id)
        self._bytes += len(chunk or b"")
        if chunk is None and self._bytes != self._found.size_bytes:
            there = f"{self._bytes:,} of {self._found.size_bytes or 0:,} bytes are there"
            raise FileRefused(f"the stored file is not whole any more: {there}.", "Upload it again.")
        return chunk or b""


# ---------------------------------------------------------------- the import

_TRIES = 8
_NO_ROOM_SECONDS = 10.0
_NOT_HERE_SECONDS = 5.0
_TIMEOUT_SECONDS = 7 * 86_400.0


def install(app: Penstock) -> None:
    """Every worker serves it, whatever application it runs."""
    if IMPORT in app.pipelines:
        return

    # Small files were stored when they were sent. These are the large ones, and they wait for the database most of the
    # time.
    @app.task(name=IMPORT, pool=4, timeout=_TIMEOUT_SECONDS, max_attempts=20, internal=True)
    async def store_rows(ctx: Context, job: int) -> Any:
        return await Importing(app, ctx, job).run()


class _NoRoom(Exception):
    """Its owner has as many unfinished items as one may have."""


class _Overtaken(Exception):
    """Another worker goes on with this import, or its job was cancelled."""


class Importing:
    """One run of one import."""

    def __init__(self, app: Penstock, ctx: Context | None, job_id: int) -> None:
        self._app = app
        self._ctx = ctx
        self._job_id = job_id
        self.size = IngestBatch.start(app.settings)

    async def run(self) -> Any:
        """Returns what is to be remembered about it, ``Cancel``, or ``Snooze`` until somebody else can go on."""
        found = await self._found()
        if found is None:
            return Cancel("its job is gone")
        if not found.open:
            return {"rows": found.rows_stored, "state": found.state}
        if found.pipeline not in self._app.pipelines:
            reason = (
                f"application {self._app.name!r} has no pipeline {found.pipeline!r}; waiting for a worker that has it"
            )
            return Snooze(_NOT_HERE_SECONDS, reason)
        batches = Batches(self._app, found)
        try:
            stored, problem = await self._store_all(found, batches)
        except _Overtaken:
            return await self._overtaken()
        except _NoRoom:
            return Snooze(_NO_ROOM_SECONDS, f"{found.owner} has as many unfinished items as one may have")
        finally:
            await batches.close()
        state = "failed" if problem else "stored"
        problem = problem or _left_out(batches)
        async with self._app.connection() as connection:
            await imports.finish(connection, self._job_id, state, problem)
        return {"rows": stored, "problem": problem}

    async def _overtaken(self) -> Cancel:
        found = await self._found()
        if found is not None and not found.cancelled:
            return Cancel("another worker goes on with it")
        async with self._app.connection() as connection:
            await imports.finish(connection, self._job_id, "cancelled")
        return Cancel("its job was cancelled")

    async def _found(self) -> Import | None:
        async with self._app.connection() as connection:
            return await imports.get(connection, self._job_id)

    async def _store_all(self, found: Import, batches: Batches) -> tuple[int, dict[str, Any] | None]:
        """How many rows there are in the end, and what stopped it before the end of the file."""
        stored = found.rows_stored
        batch = await batches.next(self.size)
        while True:
            # The next one is read while this one is stored.
            reading = None if batch.last else asyncio.create_task(batches.next(self.size))
            try:
                if len(batch.rows):
                    if not await has_room(self._app, found.owner):
                        raise _NoRoom
                    await self._store(found, batch, stored)
                    stored += len(batch.rows)
                    if self._ctx is not None:
                        self._ctx.progress(batch.bytes_read, found.size_bytes, f"{stored:,} rows")
            except BaseException:
                if reading is not None:
                    reading.cancel()
                raise
            if reading is None:
                return stored, _problem(batch, stored)
            batch = await reading

    async def _store(self, found: Import, batch: Batch, before: int) -> None:
        """Tried again while the fault is one that passes: the batch is in memory, and the place is kept."""
        for attempt in range(1, _TRIES + 1):
            asked_at = time.monotonic()
            try:
                async with self._app.connection() as connection:
                    began_at = time.monotonic()
                    await self._write(connection, found, batch, before)
                    took_ms = (time.monotonic() - began_at) * 1000
            except DATABASE_FAULTS:
                if attempt == _TRIES:
                    raise
                self.size, pause_seconds = self.size.after_error(random.random)
                await asyncio.sleep(pause_seconds)
            else:
                wait_ms = (began_at - asked_at) * 1000
                self.size = self.size.after_batch(len(batch.rows), batch.size_bytes, took_ms, wait_ms)
                return

    async def _write(self, connection: Any, found: Import, batch: Batch, before: int) -> None:
        pipeline = require_pipeline(self._app, found.pipeline)
        async with connection.transaction():
            rows = len(batch.rows)
            if not await imports.advance(
                connection, self._job_id, before=before, rows=rows, bytes_read=batch.bytes_read, why=self.size.reason
            ):
                raise _Overtaken
            inputs = await batch.inputs(connection, found)
            options = EnqueueOptions(owner=found.owner, job_id=self._job_id)
            await self._app.store_rows(connection, pipeline, inputs, options)


def _problem(batch: Batch, stored: int) -> dict[str, Any] | None:
    if batch.refused is None:
        return None
    told = {"row": batch.refused.row, "column": batch.refused.column, "rowsStored": stored}
    kept = f" The {stored:,} rows before it are stored and are processed." if stored else ""
    return {"detail": clean_text(f"{batch.refused}{kept}", 2000), **told}


def _left_out(batches: Batches) -> dict[str, Any] | None:
    """Not a failure, but whoever counts the pictures wants to know."""
    if not batches.left_out_count:
        return None
    more = batches.left_out_count - len(batches.left_out)
    named = "; ".join(batches.left_out) + (f"; and {more:,} more" if more else "")
    return {"detail": clean_text(f"{batches.left_out_count:,} entries of the zip were left out: {named}.", 2000)}
