"""A project as a file, from what is stored: the columns as they came in, then what was matched and who decided.

Rows are read page by page; each says what it was when its page was read. Nothing is computed or asked again.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING

import orjson

from penstock.apps.record_linking import records
from penstock.apps.record_linking.project import Project
from penstock.apps.record_linking.record import Record
from penstock.errors import UsageError
from penstock.intake.export.csv_lines import csv_line
from penstock.intake.export.formulas import guard
from penstock.intake.export.layout import Column, unique
from penstock.intake.export.manifest import HEADINGS, Manifest
from penstock.intake.export.sheets import Sheet, escaped_rows, write_sheets

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

PAGE_ROWS = 2000
CHUNK_BYTES = 256 * 1024
MATCH_COLUMNS = (
    "match_state",
    "match_id",
    "match_label",
    "match_score",
    "match_gap",
    "decided_by",
    "decided_at",
    "note",
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """``manifest``: cells that did not fit into a sheet and stand in the one called Manifest."""

    rows: int
    manifest: int
    size_bytes: int
    file: IO[bytes]


def headings(project: Project) -> list[str]:
    """A column of the file that is called like one of ours keeps its name; ours gets a number."""
    named = [Column(heading=one, kind="") for one in (*project.columns, *MATCH_COLUMNS)]
    return [one.heading for one in unique(named)]


def cells(project: Project, record: Record) -> list[Value]:
    """``decided_by`` is empty where the scores alone decided."""
    decided_at = None if record.decided_at is None else record.decided_at.isoformat()
    return [
        *(record.cells.get(column) for column in project.columns),
        record.state.name,
        record.entity,
        record.label,
        _rounded(record.score),
        _rounded(record.gap),
        record.decided_by,
        decided_at,
        record.note,
    ]


async def csv_stream(
    linking: "RecordLinking", project: Project, *, safe: bool = False, mark: bool = False, told: Told | None = None
) -> AsyncGenerator[bytes, None]:
    """``safe``: cells that a spreadsheet would run as formulas get an apostrophe. ``mark``: a byte order mark first."""
    line = csv_line([guard(one) if safe else one for one in headings(project)], quote_all=True)
    yield (_MARK if mark else b"") + line
    done = 0
    async for page in _pages(linking, project.id):
        rows = [[_text(value, safe) for value in cells(project, one)] for one in page]
        yield b"".join(csv_line(row) for row in rows)
        done += len(page)
        if told is not None:
            told(done)


async def json_stream(
    linking: "RecordLinking", project: Project, *, told: Told | None = None
) -> AsyncGenerator[bytes, None]:
    """An array of objects; every object has all keys."""
    keys = headings(project)
    yield b"["
    done = 0
    async for page in _pages(linking, project.id):
        texts = [orjson.dumps(dict(zip(keys, cells(project, one), strict=True))) for one in page]
        yield (b",\n" if done else b"\n") + b",\n".join(texts)
        done += len(page)
        if told is not None:
            told(done)
    yield b"\n]\n"


@asynccontextmanager
async def xlsx_written(
    linking: "RecordLinking", project: Project, *, told: Told | None = None
) -> AsyncIterator[Written]:
    """The whole file, gone when the block is left. Written in a thread, which draws its pages from here."""
    names = headings(project)
    if len(names) > _MOST_COLUMNS:
        raise UsageError(f"There are {len(names):,} columns; an XLSX sheet takes {_MOST_COLUMNS:,}. Export as CSV.")
    async with linking.app.connection() as connection:
        total = sum((await records.counts(connection, project.id)).values())
    loop = asyncio.get_running_loop()

    def drawn() -> Iterator[Record]:
        after = 0
        while page := asyncio.run_coroutine_threadsafe(_page(linking, project.id, after), loop).result():
            yield from page
            after = page[-1].number
            if told is not None:
                loop.call_soon_threadsafe(told, after)

    with tempfile.TemporaryDirectory(prefix="penstock-linking-") as folder, Manifest() as manifest:
        path = Path(folder) / "export.xlsx"
        book = _Book(project=project, names=names, manifest=manifest)
        await asyncio.to_thread(book.write, path, drawn(), total)
        with path.open("rb") as file:
            size_bytes = file.seek(0, 2)
            file.seek(0)
            yield Written(rows=total, manifest=manifest.cells, size_bytes=size_bytes, file=file)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Book:
    project: Project
    names: Sequence[str]
    manifest: Manifest

    def write(self, path: Path, drawn: Iterator[Record], total: int) -> None:
        """Every sheet draws its share, so they have to be written in order."""
        count = max(1, -(-total // (_SHEET_ROWS - 1)))
        sheets = ["Rows" if number == 1 else f"Rows {number}" for number in range(1, count + 1)]
        made: list[Sheet] = [(name, self.names, self._share(name, drawn)) for name in sheets]
        write_sheets(path, [*made, ("Manifest", HEADINGS, self._manifest_rows())])

    def _share(self, sheet: str, drawn: Iterator[Record]) -> Iterator[str]:
        for number in range(2, _SHEET_ROWS + 1):
            record = next(drawn, None)
            if record is None:
                return
            yield escaped_rows([self._checked(cells(self.project, record), sheet, number)])

    def _checked(self, row: list[Value], sheet: str, number: int) -> list[Value]:
        return [
            self.manifest.held(cell, sheet=sheet, row=number, column=name) if isinstance(cell, str) else cell
            for name, cell in zip(self.names, row, strict=True)
        ]

    def _manifest_rows(self) -> Iterator[str]:
        for row in self.manifest.rows():
            yield escaped_rows([row])


async def _pages(linking: "RecordLinking", project_id: int) -> AsyncIterator[list[Record]]:
    after = 0
    while page := await _page(linking, project_id, after):
        yield page
        after = page[-1].number


async def _page(linking: "RecordLinking", project_id: int, after: int) -> list[Record]:
    async with linking.app.connection() as connection:
        return await records.page(connection, project_id, after=after, limit=PAGE_ROWS)


def _text(value: Value, safe: bool) -> str:
    text = "" if value is None else str(value)
    return guard(text) if safe and isinstance(value, str) else text


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
