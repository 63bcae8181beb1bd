"""Writes the XLSX file itself: text and numbers, sheet after sheet, rows as they come.

A workbook with nothing but text and numbers is a zip of a few XML files, and a row of it one line. While Python writes
the next rows, a thread compresses those before them; ``docs/decisions/0009`` has the figures against the libraries.
"""

import queue
import re
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import quoteattr

# Its name, its headings, and its rows as XML, many at a time.
Sheet = tuple[str, Sequence[str], Iterable[str]]

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# Level 1 takes a third of the time of the usual 6, for a file a third larger.
_LEVEL = 1
_BLOCK_CHARACTERS = 1_000_000
_BLOCKS_AHEAD = 4
_TEXT, _TEXT_END = '<c t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"
# Beside what XML itself reserves: control characters, and text that a reader would take for the escape of one.
_SPECIAL = re.compile(r"[&<\x00-\x08\x0b-\x1f\ufffe\uffff]|\]\]>|_(?=x[0-9A-Fa-f]{4}_)")
# Of a control character. Quotes, backslashes, tabs and line ends have escapes in JSON and need none in XML.
_JSON_ESCAPE = re.compile(r"\\[urbf]")
_XML = {"&": "&amp;", "<": "&lt;", "]]>": "]]&gt;"}


def is_plain(text: str) -> bool:
    """Whether no text in this JSON needs an escape: searched for what stands in JSON for such characters, single
    characters first, because they are found or ruled out at memory speed."""
    return not (
        "&" in text
        or "<" in text
        or ("\\" in text and _JSON_ESCAPE.search(text) is not None)
        or ("_" in text and "_x" in text)
        or (">" in text and "]]>" in text)
        or (not text.isascii() and ("\ufffe" in text or "\uffff" in text))
    )


def write_sheets(path: Path, sheets: Sequence[Sheet]) -> None:
    """In order, each with its headings in the first row. An error of the rows leaves a file that cannot be read."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for number, (_, headings, rows) in enumerate(sheets, start=1):
            with (
                archive.open(f"xl/worksheets/sheet{number}.xml", "w", force_zip64=True) as entry,
                _compressed(entry) as put,
            ):
                put(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{escaped_rows([headings])}')
                for block in _larger(rows):
                    put(block)
                put("</sheetData></worksheet>")
        for name, text in _frame([name for name, _, _ in sheets]):
            archive.writestr(name, _HEAD + text)


def _larger(blocks: Iterable[str]) -> Iterator[str]:
    """Few handovers between the two threads: each costs both of them a turn."""
    waiting: list[str] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= _BLOCK_CHARACTERS:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


def plain_rows(rows: Iterable[Sequence[Any]]) -> str:
    """Rows whose texts can stand in XML as they are. Rows alike in the types of their cells share a template, which is
    filled in one step."""
    return "".join([_template(*map(type, row)) % tuple(row) for row in rows])


@lru_cache(maxsize=1000)
def _template(*types: type) -> str:
    """An empty cell keeps its place, and prints nothing of its None: cells without an address stand one after the
    other."""
    written = {str: f"{_TEXT}%s{_TEXT_END}", type(None): "<c/>%.0s"}
    return f"<row>{''.join(written.get(one, '<c><v>%r</v></c>') for one in types)}</row>"


def escaped_rows(rows: Iterable[Sequence[Any]]) -> str:
    return plain_rows([[_escaped(cell) if type(cell) is str else cell for cell in row] for row in rows])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _XML.get(found[0]) or f"_x{ord(found[0]):04X}_", text)


@contextmanager
def _compressed(entry: IO[bytes]) -> Iterator[Any]:
    """Gives a function that takes text; a thread encodes, compresses and writes it. Its error is raised here."""
    blocks: queue.Queue[str | None] = queue.Queue(_BLOCKS_AHEAD)
    failed: list[BaseException] = []

    def work() -> None:
        while (block := blocks.get()) is not None:
            try:
                if not failed:
                    entry.write(block.encode())
            except BaseException as error:
                failed.append(error)

    def put(block: str) -> None:
        if failed:
            raise failed[0]
        blocks.put(block)

    thread = threading.Thread(target=work, name="penstock-compress", daemon=True)
    thread.start()
    try:
        yield put
    finally:
        blocks.put(None)
        thread.join()
    if failed:
        raise failed[0]


def _frame(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files around the sheets: what is in the package, and where."""
    numbered = list(enumerate(names, start=1))
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        for number, _ in numbered
    )
    yield (
        "[Content_Types].xml",
        f'<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{parts}</Types>',
    )
    yield (
        "_rels/.rels",
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
    )
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>' for number, name in numbered
    )
    yield "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number, _ in numbered
    )
    yield "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'
