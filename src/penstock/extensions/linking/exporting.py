"""A project as a file, from what is stored: the columns as they came in, then what was matched and who decided.

Rows are read page by page; each says what it was when its page was read. Nothing is computed or asked again.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import orjson

from penstock.console.files.export.csv_lines import csv_line
from penstock.console.files.export.formulas import guard
from penstock.console.files.export.layout import Column, unique
from penstock.console.files.export.manifest import HEADINGS, Manifest
from penstock.console.files.export.sheets import Sheet, escaped_rows, write_sheets
from penstock.errors import UsageError
from penstock.extensions.linking import records
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import Record
from penstock.extensions.linking.shared import RecordLinking

PAGE_ROWS = 2000
_CHUNK_BYTES = 256 * 1024
_SHEET_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_MARK = b"\xef\xbb\xbf"
# Real numbers of the database have six digits that mean something; more would look like a finding.
_DIGITS = 4
Told = Callable[[int], None]
Value = str | float | None


class FileFormat(StrEnum):
    csv = "csv"
    xlsx = "xlsx"
    json = "json"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


# ``decided_by`` is empty where the scores alone decided.
_MATCH: dict[str, Callable[[Record], Value]] = {
    "match_state": lambda one: one.state.name,
    "match_id": lambda one: one.entity,
    "match_label": lambda one: one.label,
    "match_score": lambda one: _rounded(one.score),
    "match_gap": lambda one: _rounded(one.gap),
    "decided_by": lambda one: one.decided_by,
    "decided_at": lambda one: None if one.decided_at is None else one.decided_at.isoformat(),
    "note": lambda one: one.note,
}
MATCH_COLUMNS = tuple(_MATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """``manifest``: cells that did not fit into a sheet and stand in the one called Manifest. ``size_bytes`` None: it
    is written while it is read."""

    chunks: AsyncGenerator[bytes, None]
    manifest: int = 0
    size_bytes: int | None = None


@asynccontextmanager
async def export(
    linking: RecordLinking,
    project: Project,
    format: FileFormat,
    *,
    safe: bool = False,
    mark: bool = False,
    told: Told | None = None,
) -> AsyncIterator[Export]:
    """CSV: with ``safe``, cells that a spreadsheet would run as formulas get an apostrophe; with ``mark``, a byte order
    mark comes first."""
    if format is FileFormat.xlsx:
        async with _workbook(linking, project, told) as made:
            yield made
        return
    as_json = format is FileFormat.json
    written = _json(linking, project, told) if as_json else _csv(linking, project, safe, mark, told)
    async with aclosing(written) as chunks:
        yield Export(chunks=chunks)


def headings(project: Project) -> list[str]:
    """A column of the file that is called like one of ours keeps its name; ours gets a number."""
    named = [Column(heading=one, kind="") for one in (*project.columns, *MATCH_COLUMNS)]
    return [one.heading for one in unique(named)]


def cells(project: Project, record: Record) -> list[Value]:
    return [*(record.cells.get(column) for column in project.columns), *(read(record) for read in _MATCH.values())]


async def _csv(
    linking: RecordLinking, project: Project, safe: bool, mark: bool, told: Told | None
) -> AsyncGenerator[bytes, None]:
    line = csv_line([guard(one) if safe else one for one in headings(project)], quote_all=True)
    yield (_MARK if mark else b"") + line
    async for page in _pages(linking, project.id, told):
        yield b"".join(csv_line([_text(value, safe) for value in cells(project, one)]) for one in page)


async def _json(linking: RecordLinking, project: Project, told: Told | None) -> AsyncGenerator[bytes, None]:
    """An array of objects; every object has all keys."""
    keys = headings(project)
    separator = b"\n"
    yield b"["
    async for page in _pages(linking, project.id, told):
        texts = [orjson.dumps(dict(zip(keys, cells(project, one), strict=True))) for one in page]
        yield separator + b",\n".join(texts)
        separator = b",\n"
    yield b"\n]\n"


@asynccontextmanager
async def _workbook(linking: RecordLinking, project: Project, told: Told | None) -> AsyncIterator[Export]:
    """The whole file, gone when the block is left. Written in a thread, which draws its pages from here."""
    names = headings(project)
    if len(names) > _MOST_COLUMNS:
        raise UsageError(f"There are {len(names):,} columns; an XLSX sheet takes {_MOST_COLUMNS:,}. Export as CSV.")
    async with linking.app.connection() as connection:
        total = sum((await records.counts(connection, project.id)).values())
    loop = asyncio.get_running_loop()

    def drawn() -> Iterator[Record]:
        after = 0
        while page := asyncio.run_coroutine_threadsafe(_page(linking, project.id, after, told), loop).result():
            yield from page
            after = page[-1].number

    with tempfile.TemporaryDirectory(prefix="penstock-linking-") as folder, Manifest() as manifest:
        path = Path(folder) / "export.xlsx"
        await asyncio.to_thread(_write, path, project, names, manifest, drawn(), total)
        with path.open("rb") as file:
            async with aclosing(_chunks(file)) as chunks:
                yield Export(chunks=chunks, manifest=manifest.cells, size_bytes=path.stat().st_size)


def _write(
    path: Path, project: Project, names: Sequence[str], manifest: Manifest, drawn: Iterator[Record], total: int
) -> None:
    """Every sheet draws its share, so they have to be written in order."""

    def share(sheet: str) -> Iterator[str]:
        for number, record in enumerate(islice(drawn, _SHEET_ROWS - 1), start=2):
            row = [
                manifest.held(cell, sheet=sheet, row=number, column=name) if isinstance(cell, str) else cell
                for name, cell in zip(names, cells(project, record), strict=True)
            ]
            yield escaped_rows([row])

    count = max(1, -(-total // (_SHEET_ROWS - 1)))
    sheets = ["Rows" if number == 1 else f"Rows {number}" for number in range(1, count + 1)]
    made: list[Sheet] = [(name, names, share(name)) for name in sheets]
    write_sheets(path, [*made, ("Manifest", HEADINGS, (escaped_rows([row]) for row in manifest.rows()))])


async def _chunks(file: BinaryIO) -> AsyncGenerator[bytes, None]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


async def _pages(linking: RecordLinking, project_id: int, told: Told | None) -> AsyncIterator[list[Record]]:
    after = 0
    while page := await _page(linking, project_id, after, told):
        yield page
        after = page[-1].number


async def _page(linking: RecordLinking, project_id: int, after: int, told: Told | None) -> list[Record]:
    if after and told is not None:
        told(after)
    async with linking.app.connection() as connection:
        return await records.page(connection, project_id, after=after, limit=PAGE_ROWS)


def _text(value: Value, safe: bool) -> str:
    text = "" if value is None else str(value)
    return guard(text) if safe and isinstance(value, str) else text
