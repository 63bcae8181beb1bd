"""What an XLSX sheet could not hold as it is: named cell by cell, with the whole text, never cut silently."""

import json
import re
import tempfile
from collections.abc import Iterator
from typing import Any

LONGEST_CELL = 32_767
POINTER = "see Manifest"
HEADINGS = ("Sheet", "Row", "Column", "Length", "Why", "Part", "Text as JSON")
_PART = 32_000
_NO_ESCAPE = re.compile("[\ufffe\uffff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
TOO_LONG = "longer than a cell may be (32,767 characters)"
NOT_IN_XML = "holds characters that XML cannot express"
ESCAPED = "holds control characters; they are written as _xHHHH_"
_MEMORY_BYTES = 1024 * 1024


def trouble(text: str) -> str | None:
    """Why the text cannot stand in a cell just so; None: it can. Length counts as spreadsheets count, in UTF-16."""
    if len(text) > LONGEST_CELL // 2 and len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_CELL:
        return TOO_LONG
    if _NO_ESCAPE.search(text):
        return NOT_IN_XML
    return ESCAPED if _CONTROL.search(text) else None


class Manifest:
    """Collects entries outside of memory: every cell of a million rows may be one."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES, mode="w+", encoding="utf-8")  # noqa: SIM115
        self.cells = 0

    def held(self, text: str, *, sheet: str, row: int, column: str) -> str:
        """What to write into the cell: the text, or where to find it."""
        why = trouble(text)
        if why is None:
            return text
        self.cells += 1
        self._file.write(json.dumps([sheet, row, column, len(text), why, text]) + "\n")
        return text if why == ESCAPED else POINTER

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Long texts in parts that fit; put together, they are one JSON string. Headings longer than a cell are cut
        here and only here: the row and their number still say which column it is."""
        self._file.seek(0)
        for line in self._file:
            sheet, row, column, length, why, text = json.loads(line)
            whole = json.dumps(text)
            for part, start in enumerate(range(0, len(whole), _PART), start=1):
                yield sheet, row, column[:200], length, why, part, whole[start : start + _PART]

    def __enter__(self) -> "Manifest":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
