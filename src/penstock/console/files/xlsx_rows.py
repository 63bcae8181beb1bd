"""Rows of an XLSX workbook, every cell as the text a person sees as far as the file tells.

The workbook is parsed in a capped child; rows come to this process in small pieces, so its memory stays flat. The
child holds the whole sheet, and a sheet that does not fit is refused.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.console.files.capped import CappedChild, Caps
from penstock.console.files.csv_rows import MOST_COLUMNS, ROW_BYTES
from penstock.console.files.frames import Header
from penstock.console.files.refused import FileRefused

# A sheet of a million rows and eight columns takes about 800 MB.
CAPS = Caps(memory_mb=1536, cpu_seconds=120, answer_seconds=180.0)
UNPACKED_BYTES = 1024**3
_PARSER = "penstock.console.files.xlsx_workbook"


@dataclass(frozen=True, slots=True, kw_only=True)
class XlsxShape:
    """``sheet``: the one to read, of ``sheets``; ``columns``: its headings, or made-up names without a header."""

    sheet: str
    sheets: tuple[str, ...]
    has_header: bool
    columns: tuple[str, ...]


def shape_of_file(
    path: Path,
    *,
    sheet: str | int | None = None,
    header: bool | None = None,
    most_columns: int = MOST_COLUMNS,
    unpacked_bytes: int = UNPACKED_BYTES,
    caps: Caps = CAPS,
) -> XlsxShape:
    """``sheet``: a name, or a number from 1 as people count; the first visible one if none is given."""
    order = {"kind": "shape", "sheet": sheet, "header": header, "most_columns": most_columns}
    with CappedChild(_PARSER, caps, subject="workbook") as child:
        for found, _ in child.ask({**order, "unpacked_bytes": unpacked_bytes}, os.fsencode(path)):
            return _shape(found)
    raise FileRefused("the workbook cannot be read.", "Open it and save it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class XlsxGlance:
    """``count``: about how many rows there are; ``exact`` says that it is no estimate."""

    shape: XlsxShape
    rows: list[list[str]]
    count: int
    exact: bool


def glance(path: Path, *, sheet: str | None, header: bool | None, most_rows: int, caps: Caps) -> XlsxGlance:
    """Shape and first rows in one reading."""
    order = {"kind": "preview", "sheet": sheet, "header": header, "most_columns": MOST_COLUMNS, "most_rows": most_rows}
    with CappedChild(_PARSER, caps, subject="workbook") as child:
        answer = child.ask({**order, "unpacked_bytes": UNPACKED_BYTES}, os.fsencode(path))
        (found, _), (told, _) = answer
    return XlsxGlance(shape=_shape(found), **told)


def _shape(told: Header) -> XlsxShape:
    return XlsxShape(**told | {"sheets": tuple(told["sheets"]), "columns": tuple(told["columns"])})


def read(
    path: Path, shape: XlsxShape, *, unpacked_bytes: int = UNPACKED_BYTES, caps: Caps = CAPS
) -> Iterator[list[str]]:
    """The rows behind the header, blank ones left out as in a CSV. Closing the generator ends the child."""
    order = {"kind": "rows", "sheet": shape.sheet, "has_header": shape.has_header, "width": len(shape.columns)}
    order |= {"row_bytes": ROW_BYTES, "unpacked_bytes": unpacked_bytes}
    with CappedChild(_PARSER, caps, subject="workbook") as child:
        for piece, _ in child.ask(order, os.fsencode(path)):
            yield from piece["rows"]
