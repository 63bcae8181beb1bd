"""A job as XLSX, in flat memory: rows go to disk as they come, and a sheet is followed by the next one when it is full.

Text is written as text, whatever it looks like; only numbers in stored results become numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.console.files.export.layout import Layout
from penstock.console.files.export.manifest import HEADINGS, LONGEST_CELL, Manifest
from penstock.console.files.export.rows import RowReader, Value
from penstock.console.files.export.sheets import Sheet, escaped_rows, is_plain, plain_rows, write_sheets
from penstock.errors import UsageError

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
