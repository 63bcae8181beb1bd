"""Reads a stored file and stores its rows as tasks, batch by batch, until the file ends or a row cannot be read.

Each batch and the place behind it are one transaction, so an import that is killed goes on where it was: no row twice,
none left out. While one batch is being stored, a thread reads the next one.
"""

import asyncio
import random
import time
from typing import Any

from penstock.adaptation.ingest_batch import IngestBatch
from penstock.application import Penstock
from penstock.console.files.batches import Batch, Batches
from penstock.console.files.room import has_room
from penstock.console.files.submit import IMPORT, require_pipeline
from penstock.core.context import Context
from penstock.core.enqueue import EnqueueOptions
from penstock.core.payload import clean_text
from penstock.errors import DatabaseError
from penstock.model import Cancel, Snooze
from penstock.storage import imports
from penstock.storage.database import passing
from penstock.storage.imports import Import

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
                    self._tell(found, batch, stored)
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
            except Exception as error:
                if attempt == _TRIES or not (passing(error) or isinstance(error, DatabaseError)):
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

    def _tell(self, found: Import, batch: Batch, stored: int) -> None:
        if self._ctx is not None:
            self._ctx.progress(batch.bytes_read, found.size_bytes, f"{stored:,} rows")


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
