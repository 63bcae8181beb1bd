"""A job as XLSX, in flat memory: rows go to disk as they come, and a sheet is followed by the next one when it is full.

Text is written as text, whatever it looks like; only numbers in stored results become numbers.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import UsageError
from penstock.intake.export.layout import Layout
from penstock.intake.export.manifest import CONTROL_ESCAPES, HEADINGS, LONGEST_CELL, Manifest
from penstock.intake.export.rows import RowReader, Value

SHEET_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_SHEET = "Rows"
_MANIFEST = "Manifest"
_COMPLETE = "Every cell of the job is in the sheets before this one."
Sheet = tuple[str, Sequence[str], Iterable[Sequence[Any]]]
Told = Callable[[int], None]


class SheetWriter(Protocol):
    """Writes sheets one after the other, the rows of each as they come. An error of the rows ends it."""

    def __call__(self, path: Path, sheets: Sequence[Sheet]) -> None: ...


def write_quickly(path: Path, sheets: Sequence[Sheet]) -> None:
    """With rustpy-xlsxwriter. A sheet without rows gets an empty one: its headings come from the first."""
    from rustpy_xlsxwriter import write_worksheets

    def records(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
        empty = True
        for row in rows:
            empty = False
            yield dict(zip(headings, row, strict=True))
        if empty:
            yield dict.fromkeys(headings)

    write_worksheets([(name, records(headings, rows)) for name, headings, rows in sheets], str(path))


def write_plainly(path: Path, sheets: Sequence[Sheet]) -> None:
    """With XlsxWriter: several times slower, and pure Python, for machines the quick one has no build for."""
    # It has no types, and mypy is not asked to look away.
    workbook = importlib.import_module("xlsxwriter").Workbook

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with workbook(str(path), {**options, "strings_to_numbers": False}) as book:
        for name, headings, rows in sheets:
            sheet = book.add_worksheet(name)
            for place, heading in enumerate(headings):
                sheet.write_string(0, place, heading)
            for number, row in enumerate(rows, start=1):
                for place, value in enumerate(row):
                    if isinstance(value, str):
                        sheet.write_string(number, place, value)
                    elif value is not None:
                        sheet.write_number(number, place, value)


def usual_writer() -> SheetWriter:
    try:
        import rustpy_xlsxwriter  # noqa: F401
    except ImportError:
        return write_plainly
    return write_quickly


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

    def write(self, path: Path, rows: Iterable[Any], writer: SheetWriter) -> None:
        """``rows`` as they are stored. Every sheet draws its share from them, so they have to be written in order."""
        count = max(1, -(-self._layout.rows // self._most))
        names = [_SHEET if number == 1 else f"{_SHEET} {number}" for number in range(1, count + 1)]
        drawn = iter(rows)
        headings = [self._held(one, _SHEET, 1, one) for one in self._layout.headings]
        headings = [one if headings.count(one) == 1 else f"{one} ({n})" for n, one in enumerate(headings, start=1)]
        sheets: list[Sheet] = [(name, headings, self._share(name, drawn)) for name in names]
        writer(path, [*sheets, (_MANIFEST, HEADINGS, self._manifest_rows())])
        if next(drawn, None) is not None:
            raise UsageError("Rows were stored into the job while it was exported, more than fit. Export it again.")

    def _share(self, sheet: str, drawn: Iterator[Any]) -> Iterator[Sequence[Value]]:
        for number, stored in zip(range(2, self._most + 2), drawn, strict=False):
            row = self._read(stored)
            _, given, result, error, _ = stored
            if error is not None or _suspicious(given) or _suspicious(result):
                row = self._checked(row, sheet, number)
            yield row
            self.rows += 1
            if self._told is not None and self.rows % 1000 == 0:
                self._told(self.rows)

    def _checked(self, row: list[Value], sheet: str, number: int) -> list[Value]:
        named = zip(self._layout.headings, row, strict=True)
        return [self._held(cell, sheet, number, name) if isinstance(cell, str) else cell for name, cell in named]

    def _held(self, text: str, sheet: str, row: int, column: str) -> str:
        return self.manifest.held(text, sheet=sheet, row=row, column=column)

    def _manifest_rows(self) -> Iterator[Sequence[Any]]:
        if not self.manifest.cells:
            yield (_COMPLETE, *(None,) * (len(HEADINGS) - 1))
        for number, row in enumerate(self.manifest.rows(), start=1):
            if number >= self._most:
                yield ("And more: export the job as CSV to get all of it.", *(None,) * (len(HEADINGS) - 1))
                return
            yield row


def _suspicious(text: str | None) -> bool:
    """Whether JSON is worth a closer look, with searches that cost next to nothing in text that is not."""
    if text is None:
        return False
    if len(text) > LONGEST_CELL // 2 or "\ufffe" in text or "\uffff" in text:
        return True
    return "\\" in text and any(escape in text for escape in CONTROL_ESCAPES)
