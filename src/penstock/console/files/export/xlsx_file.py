"""A job as XLSX, in flat memory: rows go to disk as they come, and a sheet is followed by the next one when it is full.

Text is written as text, whatever it looks like; only numbers in stored results become numbers.

Run as a process (`python -m penstock.console.files.export.xlsx_file`), it is told what to do in one JSON line on stdin,
because an argument would show the address of the database to everybody on the machine. How far it is goes to stdout, a
JSON line each; the last one holds ``rows`` and ``manifest``, or ``error``.
"""

import asyncio
import gc
import json
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from penstock.config import Settings, load
from penstock.console.files.export.layout import Column, Edits, Layout
from penstock.console.files.export.manifest import HEADINGS, LONGEST_CELL, Manifest
from penstock.console.files.export.sheets import Sheet, escaped_rows, is_plain, plain_rows, write_sheets
from penstock.console.storage import exports
from penstock.errors import PenstockError, UsageError
from penstock.lifecycle import State
from penstock.storage import database

Value = str | int | float | None
_EXACT_INTEGER = 2**53
_NAMES = {int(state): state.name for state in State}


class RowReader:
    """``read`` turns a stored row into its cells, in the order of the layout. The server writes CSV; a sheet tells
    numbers from text."""

    def __init__(self, layout: Layout) -> None:
        kinds = [column.kind for column in layout.columns]
        self._width = kinds.count("cell")
        self._before = tuple(_input(column) for column in layout.columns if column.kind in ("image", "argument"))
        self._keys = tuple(column.key for column in layout.columns if column.kind == "result")
        other = [column.key or "[]" for column in layout.columns if column.kind == "other"]
        self._has_other = bool(other)
        self._named = frozenset(json.loads(other[0])) if other else frozenset[str]()
        self._whole = "whole" in kinds
        self._counted = "width" in kinds

    def read(self, stored: Any) -> list[Value]:
        _, input_text, result_text, error, status = stored
        given = orjson.loads(input_text)
        result = None if result_text is None else orjson.loads(result_text)
        columns = result.get("columns") if type(result) is dict else None
        row, count = self._inputs(given)
        if self._keys:
            get = columns.get if type(columns) is dict else _nothing
            row += [value if type(value) is str else plain(value) for value in map(get, self._keys)]
        if self._whole:
            row.append(None if result is None else result_text)
        if self._has_other:
            row.append(self._rest(result, columns))
        row.append(_NAMES[status])
        row.append(error)
        if self._counted:
            row.append(count)
        return row

    def _inputs(self, given: Any) -> tuple[list[Value], int | None]:
        """The columns that came in, and how many cells there were."""
        cells = given.get("cells") if self._width and type(given) is dict else None
        count = len(cells) if type(cells) is list else None
        row: list[Value] = cells if type(cells) is list else []
        if count != self._width:
            row += [None] * (self._width - (count or 0))
        if self._before:
            row += [take(given) for take in self._before]
        return row, count

    def _rest(self, result: Any, columns: Any) -> Value:
        if type(columns) is dict:
            if columns.keys() <= self._named:
                return None
            result = {key: value for key, value in columns.items() if key not in self._named} or None
        return None if result is None else stored_text(result)


def plain(value: Any) -> Value:
    """Text stays text and numbers numbers. What a spreadsheet has no exact number for is text too."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return value if abs(value) <= _EXACT_INTEGER else str(value)
    return value if isinstance(value, float) else stored_text(value)


def stored_text(value: Any) -> str:
    """JSON as PostgreSQL writes it, so that all exports show the same."""
    return json.dumps(value, ensure_ascii=False)


def _input(column: Column) -> Callable[[Any], Value]:
    key = column.key or ""
    if column.kind == "image":
        return lambda given: plain((given.get("image") or {}).get("name"))
    return lambda given: plain(given.get(key)) if isinstance(given, dict) else None


def _nothing(key: Any) -> None:
    return None


SHEET_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_SHEET = "Rows"
_MANIFEST = "Manifest"
_AT_ONCE = 100
_MORE = "And more: export the job as CSV to get all of it."
_COMPLETE = "Every cell of the job is in the sheets before this one."
Told = Callable[[int], None]


class Workbook:
    """The sheets of one job, in a ``with`` block; ``sheet_rows`` is smaller in tests only."""

    def __init__(self, layout: Layout, *, told: Told | None = None, sheet_rows: int = SHEET_ROWS) -> None:
        if len(layout.columns) > _MOST_COLUMNS:
            problem = f"The job has {len(layout.columns):,} columns; an XLSX sheet takes {_MOST_COLUMNS:,}."
            raise UsageError(f"{problem} Export it as CSV.")
        self.manifest = Manifest()
        self.rows = 0
        self._layout = layout
        self._read = RowReader(layout).read
        self._told = told
        self._most = sheet_rows - 1

    def __enter__(self) -> "Workbook":
        return self

    def __exit__(self, *error: object) -> None:
        self.manifest.__exit__(*error)

    def write(self, path: Path, rows: Iterable[Any]) -> None:
        """``rows`` as they are stored. Every sheet draws its share from them, so they have to be written in order."""
        count = max(1, -(-self._layout.rows // self._most))
        names = [_SHEET if number == 1 else f"{_SHEET} {number}" for number in range(1, count + 1)]
        drawn = iter(rows)
        headings = [self._held(one, _SHEET, 1, one) for one in self._layout.headings]
        headings = [one if headings.count(one) == 1 else f"{one} ({n})" for n, one in enumerate(headings, start=1)]
        sheets: list[Sheet] = [(name, headings, self._share(name, drawn)) for name in names]
        write_sheets(path, [*sheets, (_MANIFEST, HEADINGS, self._manifest_rows())])
        if next(drawn, None) is not None:
            raise UsageError("Rows were stored into the job while it was exported, more than fit. Export it again.")

    def _share(self, sheet: str, drawn: Iterator[Any]) -> Iterator[str]:
        """Some rows at a time: what is true of all of them is asked once."""
        number = 2
        while some := list(islice(drawn, min(_AT_ONCE, self._most + 2 - number))):
            rows = [self._read(stored) for stored in some]
            if _harmless(some):
                yield plain_rows(rows)
            else:
                yield escaped_rows([self._checked(row, sheet, place) for place, row in enumerate(rows, start=number)])
            number += len(some)
            self.rows += len(some)
            if self._told is not None:
                self._told(self.rows)

    def _checked(self, row: list[Value], sheet: str, number: int) -> list[Value]:
        named = zip(self._layout.headings, row, strict=True)
        return [self._held(cell, sheet, number, name) if isinstance(cell, str) else cell for name, cell in named]

    def _held(self, text: str, sheet: str, row: int, column: str) -> str:
        return self.manifest.held(text, sheet=sheet, row=row, column=column)

    def _manifest_rows(self) -> Iterator[str]:
        if not self.manifest.cells:
            yield escaped_rows([(_COMPLETE, *(None,) * (len(HEADINGS) - 1))])
        for number, row in enumerate(self.manifest.rows(), start=1):
            if number >= self._most:
                yield escaped_rows([(_MORE, *(None,) * (len(HEADINGS) - 1))])
                return
            yield escaped_rows([row])


def _harmless(some: Sequence[Any]) -> bool:
    """Whether no cell of these stored rows is worth a closer look."""
    if any(error is not None or len(given) > LONGEST_CELL // 2 for _, given, _, error, _ in some):
        return False
    results = [result for _, _, result, _, _ in some if result is not None]
    if any(len(result) > LONGEST_CELL // 2 for result in results):
        return False
    return is_plain("".join([given for _, given, _, _, _ in some])) and is_plain("".join(results))


# -------------------------------------------------------------------- the process

_PAGE_ROWS = 5_000
_PAGES_AHEAD = 3
_TOLD_EVERY_ROWS = 5_000
_TURN_SECONDS = 0.0002
Pages = queue.Queue[list[Any] | BaseException | None]


def main() -> int:
    # The thread that reads would wait five milliseconds for its turn after every part of an answer.
    sys.setswitchinterval(_TURN_SECONDS)
    # Rows hold no cycles; looking for some takes a tenth of the time.
    gc.disable()
    asked = orjson.loads(sys.stdin.buffer.readline())
    layout = Layout.decoded(asked["layout"])
    path = Path(asked["path"])
    try:
        with Workbook(layout, told=_tell) as book:
            book.write(path, _rows(asked["url"], layout))
            _say({"rows": book.rows, "manifest": book.manifest.cells, "done": True})
    except BrokenPipeError:
        path.unlink(missing_ok=True)  # nobody is there any more to remove it
        return 1
    except PenstockError as error:
        _say({"error": str(error), "kind": type(error).__name__, "away": database.passing(error)})
        return 1
    return 0


def _rows(url: str, layout: Layout) -> Iterator[Any]:
    """Stored rows in order; the next pages are read while these are written."""
    pages: Pages = queue.Queue(_PAGES_AHEAD)
    settings = load(database_url=url)
    threading.Thread(target=lambda: asyncio.run(_read(settings, url, layout, pages)), daemon=True).start()
    while (page := pages.get()) is not None:
        if isinstance(page, BaseException):
            raise page
        yield from page


async def _read(settings: Settings, url: str, layout: Layout, pages: Pages) -> None:
    """Short statements, and none open while the writer is behind."""
    after = 0
    edits = Edits(layout.edited)
    columns_only = all(column.kind != "whole" for column in layout.columns)
    try:
        connection = await database.connect(settings, url, purpose="export")
        with database.translated(url):
            while True:
                page = await exports.next_page(
                    connection, job_id=layout.job_id, after=after, last_id=layout.last_id, rows=_PAGE_ROWS
                )
                if page is None:
                    break
                for piece in edits.pieces(page):
                    pages.put(await exports.rows(connection, piece, columns_only=columns_only))
                after = page.last_id
        pages.put(None)
        await connection.close()
    except BaseException as error:
        pages.put(error)


def _tell(rows: int) -> None:
    if rows % _TOLD_EVERY_ROWS == 0:
        _say({"rows": rows})


def _say(data: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(data) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
