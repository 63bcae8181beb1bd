"""The rows of a stored file in batches, read in a thread: parsing holds the GIL, but not the event loop."""

import asyncio
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.adaptation.ingest_batch import IngestBatch
from penstock.application import Penstock
from penstock.console.files import csv_rows, files, inputs, xlsx_rows, zip_images
from penstock.console.files.csv_shape import CsvShape
from penstock.console.files.refused import FileRefused
from penstock.console.files.xlsx_rows import XlsxShape
from penstock.console.storage import files as file_table
from penstock.storage.imports import Import

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
                made.append(inputs.of_image(row.row, file_id, name))
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
            return inputs.of_rows(rows, safe=safe, skip=found.rows_stored)
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-")
        path = Path(self._folder.name) / "file"
        await files.spool(self._app, found.file_id, path, job_id=found.job_id)
        if found.kind == "images":
            return self._unpacked(path)
        return inputs.of_rows(xlsx_rows.read(path, XlsxShape(**shape)), safe=False, skip=found.rows_stored)

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
