"""A job as CSV, page by page as the server writes it.

A page is read to its end before its first byte is handed on: a slow client must not keep a statement, and with it a
snapshot, open. What does not fit into memory meanwhile waits on disk.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable
from enum import StrEnum
from typing import IO

from penstock.application import Penstock
from penstock.console.files.export.csv_lines import csv_line
from penstock.console.files.export.formulas import BEGINNINGS, PATTERN, guard
from penstock.console.files.export.layout import Edits, Layout
from penstock.console.storage import exports
from penstock.console.storage.exports import Guard, Page

PAGE_ROWS = 10_000
_CHUNK_BYTES = 256 * 1024
_MEMORY_BYTES = 8 * 1024 * 1024
_MARK = b"\xef\xbb\xbf"
_GUARD = Guard(pattern=PATTERN, beginnings=BEGINNINGS)
Told = Callable[[int], None]


class Form(StrEnum):
    """``exact``: every cell as it is. ``safe``: cells that a spreadsheet would run get an apostrophe."""

    exact = "exact"
    safe = "safe"


async def stream(
    app: Penstock, layout: Layout, *, form: Form = Form.exact, mark: bool = False, told: Told | None = None
) -> AsyncGenerator[bytes, None]:
    """UTF-8, ``mark``: with the byte order mark that some spreadsheets want. ``told`` hears how many rows are out."""
    yield header(layout, form=form, mark=mark)
    done = 0
    edits = Edits(layout.edited)
    upcoming = asyncio.ensure_future(_read(app, layout, edits, form, after=0))
    try:
        while (read := await upcoming) is not None:
            page, file = read
            upcoming = asyncio.ensure_future(_read(app, layout, edits, form, after=page.last_id))
            with file:
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk
            done += edits.rows(page)
            if told is not None:
                told(done)
    finally:
        await _given_up(upcoming)


def header(layout: Layout, *, form: Form, mark: bool) -> bytes:
    """Always quoted: then whoever finds out how the file is written sees at once which quotes it has."""
    headings = [guard(one) if form is Form.safe else one for one in layout.headings]
    return (_MARK if mark else b"") + csv_line(headings, quote_all=True)


async def _read(
    app: Penstock, layout: Layout, edits: Edits, form: Form, *, after: int
) -> tuple[Page, IO[bytes]] | None:
    """The next page, ready to be handed on; None: that was all."""
    async with app.connection() as connection:
        page = await exports.next_page(
            connection, job_id=layout.job_id, after=after, last_id=layout.last_id, rows=PAGE_ROWS
        )
        if page is None:
            return None
        file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 - the reader closes it
        try:
            for piece in edits.pieces(page):
                await exports.copy_csv(
                    connection,
                    piece,
                    kinds=[column.kind for column in layout.columns],
                    keys=[column.key for column in layout.columns],
                    guard=_GUARD if form is Form.safe else None,
                    target=file,
                )
        except BaseException:
            file.close()
            raise
    file.seek(0)
    return page, file


async def _given_up(upcoming: "asyncio.Future[tuple[Page, IO[bytes]] | None]") -> None:
    """Nobody waits for this page any more: stop the statement, close the file."""
    upcoming.cancel()
    (ended,) = await asyncio.gather(upcoming, return_exceptions=True)
    if isinstance(ended, tuple):
        ended[1].close()
