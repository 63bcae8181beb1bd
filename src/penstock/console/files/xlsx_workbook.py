"""Inside the capped child: opens a workbook and hands out its rows. Nothing here runs in a service or worker."""

import os
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO

import orjson
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from penstock.console.files import zip_directory
from penstock.console.files.capped_child import Send
from penstock.console.files.csv_shape import columns_of
from penstock.console.files.frames import Header
from penstock.console.files.refused import FileRefused

_MOST_ENTRIES = 10_000
_HEAD_BYTES = 64 * 1024
_SAMPLE_ROWS = 200
_PIECE_ROWS = 500
_PIECE_CHARACTERS = 256 * 1024
_GLANCE_CHARACTERS = 1000
_AGAIN = "Open it and save it again as an Excel workbook (.xlsx)."
# What may stand before the first element of an XML file, apart from a document type.
_PROLOGUE = re.compile(r"\ufeff?(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)


def serve(order: Header, blob: bytes, send: Send) -> None:
    path = Path(os.fsdecode(blob))
    _check_archive(path, order["unpacked_bytes"])
    with path.open("rb") as file:
        workbook = _workbook(file)
        if order["kind"] in ("shape", "preview"):
            _send_shape(workbook, order, send)
        else:
            sheet = _loaded(workbook, order["sheet"])
            _send_rows(sheet, order, send)


# -------------------------------------------------------------------- the archive


def _check_archive(path: Path, unpacked_bytes: int) -> None:
    with zip_directory.opened(path) as archive:
        entries = archive.infolist()
        zip_directory.check(entries, most=_MOST_ENTRIES)
        zip_directory.check_sizes(entries, total_bytes=unpacked_bytes)
        names = {entry.filename for entry in entries}
        if "[Content_Types].xml" not in names or not any(name.startswith("xl/") for name in names):
            raise FileRefused("the file is an archive, but no Excel workbook.", _AGAIN)
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                _check_prologue(archive, entry)


def _check_prologue(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Document types are how XML files reach for other files, or grow when they are read. No workbook needs one."""
    with archive.open(entry) as part:
        head = part.read(_HEAD_BYTES)
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head[:4]
    text = head.decode("utf-16" if wide else "utf-8", errors="replace")
    prologue = _PROLOGUE.match(text)
    rest = text[prologue.end() if prologue else 0 :]
    if rest[:9].upper() == "<!DOCTYPE" or "<!ENTITY" in text.upper():
        problem = f"{entry.filename!r} in the workbook declares a document type or entities."
        raise FileRefused(problem, _AGAIN)
    if text.strip("\ufeff \t\r\n") and not re.match(r"<[^\W\d][^>]*", rest):
        raise FileRefused(f"{entry.filename!r} in the workbook is not XML.", _AGAIN)


# -------------------------------------------------------------------- the workbook


def _workbook(file: IO[bytes]) -> CalamineWorkbook:
    try:
        return CalamineWorkbook.from_filelike(file)
    except PasswordError:
        raise FileRefused("the workbook is protected with a password.", "Save it without one.") from None
    except CalamineError as error:
        raise FileRefused(f"the workbook is damaged ({error}).", _AGAIN) from None


def _loaded(workbook: CalamineWorkbook, name: str) -> CalamineSheet:
    try:
        return workbook.get_sheet_by_name(name)
    except CalamineError as error:
        raise FileRefused(f"the sheet {name!r} is damaged ({error}).", _AGAIN) from None


def _send_shape(workbook: CalamineWorkbook, order: Header, send: Send) -> None:
    """Of a preview also the first rows, from the same reading of the sheet."""
    tables = [one for one in workbook.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in tables]
    visible = [one.name for one in tables if one.visible == SheetVisibleEnum.Visible]
    name = _chosen(names, visible, order["sheet"])
    sheet = _loaded(workbook, name)
    rows = list(islice(_written(sheet), _SAMPLE_ROWS))
    if not rows:
        raise FileRefused(f"the sheet {name!r} holds no rows.", "Fill in a header and at least one row.")
    most_columns, whole = order["most_columns"], len(rows) < _SAMPLE_ROWS
    has_header, columns = columns_of(rows, whole=whole, header=order["header"], most_columns=most_columns)
    send({"sheet": name, "sheets": names, "has_header": has_header, "columns": columns})
    if order["kind"] == "preview":
        shown = _first_rows(sheet, has_header, len(columns), order["most_rows"])
        # Up to the last row of the sheet, blank ones in between counted: close enough before it is read.
        count = max(len(shown), sheet.height - int(has_header))
        send({"rows": shown, "count": count, "exact": whole and count <= len(shown)})


def _first_rows(sheet: CalamineSheet, has_header: bool, width: int, most: int) -> list[list[str]]:
    """To be looked at only: long cells are cut, and many of them end it."""
    shown: list[list[str]] = []
    characters = 0
    for cells in islice(_written(sheet), int(has_header), int(has_header) + most):
        _fit(cells, width)
        shown.append([cell[:_GLANCE_CHARACTERS] for cell in cells])
        characters += sum(map(len, shown[-1]))
        if characters > _GLANCE_CHARACTERS * 2000:
            break
    return shown


def _chosen(names: list[str], visible: list[str], wanted: str | int | None) -> str:
    if not names:
        raise FileRefused("the workbook has no sheet with rows.", _AGAIN)
    if wanted is None:
        return (visible or names)[0]
    if wanted in names:
        return str(wanted)
    number = int(wanted) if str(wanted).isdecimal() and len(str(wanted)) < 10 else 0
    if 1 <= number <= len(names):
        return names[number - 1]
    listed = ", ".join(map(repr, names[:20]))
    raise FileRefused(f"the workbook has no sheet {wanted!r}.", f"Choose one of {listed}, or a number from 1.")


# -------------------------------------------------------------------- rows


def _written(sheet: CalamineSheet) -> Iterator[list[str]]:
    """Every row that holds anything."""
    return (cells for cells in map(texts_of, sheet.iter_rows()) if any(cells))


def _send_rows(sheet: CalamineSheet, order: Header, send: Send) -> None:
    width, row_bytes = order["width"], order["row_bytes"]
    rows: list[list[str]] = []
    characters = 0
    for number, cells in enumerate(islice(_written(sheet), int(order["has_header"]), None), start=1):
        _fit(cells, width)
        length = sum(map(len, cells))
        if length > row_bytes // 4 or "\0" in "".join(cells):
            _check_row(cells, number, row_bytes)
        rows.append(cells)
        characters += length
        if len(rows) >= _PIECE_ROWS or characters >= _PIECE_CHARACTERS:
            send({"kind": "rows", "rows": rows})
            rows, characters = [], 0
    send({"kind": "rows", "rows": rows})


def _fit(cells: list[str], width: int) -> None:
    """All rows of a sheet are as wide as its widest; what is empty behind the last heading was never written."""
    while len(cells) > width and not cells[-1]:
        cells.pop()
    cells.extend([""] * (width - len(cells)))


def _check_row(cells: list[str], number: int, row_bytes: int) -> None:
    if len(orjson.dumps(cells)) > row_bytes:
        raise FileRefused(f"it is longer than {row_bytes:,} bytes.", "Shorten its cells.", row=number)
    for place, cell in enumerate(cells, start=1):
        if "\0" in cell:
            raise FileRefused(f"cell {place} holds a NUL character.", "Remove it.", row=number)


# -------------------------------------------------------------------- cells

_EXACT = 2.0**53


def texts_of(cells: list[int | float | str | bool | time | date | datetime | timedelta]) -> list[str]:
    return [cell if type(cell) is str else text_of(cell) for cell in cells]


def text_of(value: int | float | str | bool | time | date | datetime | timedelta) -> str:
    """What a person sees in a cell, as far as the file tells. Dates and times in ISO form; numbers in full, never with
    an exponent, whole ones without a point."""
    match value:
        case str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _number(value)
        case timedelta():
            return _duration(value)
        case datetime():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    text = repr(value)
    return (format(Decimal(text), "f") if "e" in text else text).removesuffix(".0")


def _duration(value: timedelta) -> str:
    """As a spreadsheet shows hours beyond a day: 30:05:00."""
    seconds = round(abs(value).total_seconds())
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
