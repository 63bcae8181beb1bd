"""Workbooks written by hand, so that a test can break any part of them; a hundred thousand rows take a moment."""

import zipfile
from pathlib import Path

TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = (
    f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}">'
    f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
BOOK_RELATIONS = (
    f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}">'
    f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
)
BOOK = (
    f'<?xml version="1.0"?><workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
    '<sheets><sheet name="Products" sheetId="1" r:id="r1"/></sheets></workbook>'
)


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def sheet(rows: str, prologue: str = '<?xml version="1.0"?>') -> str:
    return f'{prologue}<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def table(rows: list[list[str]]) -> str:
    letters = "ABCDEFGH"
    return sheet(
        "".join(
            f'<row r="{n}">{"".join(cell(f"{letters[m]}{n}", text) for m, text in enumerate(row))}</row>'
            for n, row in enumerate(rows, start=1)
        )
    )


def write(path: Path, sheet_xml: str | bytes, *, book: str = BOOK, further: dict[str, bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", BOOK_RELATIONS)
        archive.writestr("xl/worksheets/sheet1.xml", sheet_xml)
        for name, data in (further or {}).items():
            archive.writestr(name, data)
    return path
