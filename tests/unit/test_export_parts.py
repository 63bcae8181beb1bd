"""The pure parts of an export: headings, file names, and what a cell of a sheet can hold."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from penstock.console.files.export.file_name import disposition, file_name
from penstock.console.files.export.layout import Column, Edits, Layout, unique
from penstock.console.files.export.manifest import ESCAPED, NOT_IN_XML, POINTER, TOO_LONG, Manifest, trouble
from penstock.console.files.export.xlsx_file import SHEET_ROWS, Workbook, plain
from penstock.console.storage.exports import Page
from penstock.errors import UsageError


def layout(rows: int, *headings: str) -> Layout:
    columns = [Column(heading=one, kind="cell", key=str(place)) for place, one in enumerate(headings)]
    ending = [Column(heading="Status", kind="status"), Column(heading="Error", kind="error")]
    return Layout(job_id=1, last_id=rows, rows=rows, columns=unique([*columns, *ending]))


def stored(number: int, *cells: str, error: str | None = None) -> tuple[int, str, str | None, str | None, int]:
    return number, json.dumps({"row": number, "cells": cells}, ensure_ascii=False), None, error, 2


def write(path: Path, wanted: Layout, rows: list[Any], sheet_rows: int = SHEET_ROWS) -> tuple[int, int]:
    """How many rows, and how many cells the manifest names."""
    with Workbook(wanted, sheet_rows=sheet_rows) as book:
        book.write(path, rows)
        return book.rows, book.manifest.cells


def test_a_heading_that_is_taken_gets_a_number_and_a_blank_one_a_name() -> None:
    columns = [Column(heading=one, kind="cell") for one in ("Status", "Status (2)", " ", "Status")]
    assert [one.heading for one in unique(columns)] == ["Status", "Status (2)", "Column 3", "Status (3)"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("prices.csv", "prices 7.xlsx"),
        ("../../etc/passwd", "passwd 7.xlsx"),
        ('a"b\r\nSet-Cookie: x.csv', "a b Set-Cookie  x 7.xlsx"),
        ("…", "… 7.xlsx"),
        ("...", "job 7.xlsx"),
        (5, "job 7.xlsx"),
    ],
)
def test_the_file_is_called_after_the_one_that_was_sent(sent: object, expected: str) -> None:
    assert file_name(7, {"name": None, "metadata": {"file_name": sent}}, "xlsx") == expected


def test_a_name_outside_of_ascii_travels_in_both_forms() -> None:
    assert disposition("Preise ä€ 7.csv") == (
        "attachment; filename=\"Preise _ 7.csv\"; filename*=UTF-8''Preise%20%C3%A4%E2%82%AC%207.csv"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * 32_767, None),
        ("x" * 32_768, TOO_LONG),
        ("😀" * 16_383, None),
        ("😀" * 16_384, TOO_LONG),
        ("a\ufffeb", NOT_IN_XML),
        ("a\x0bb", ESCAPED),
        ("a\tb\r\nc", None),
    ],
)
def test_what_a_cell_cannot_hold_is_seen(text: str, why: str | None) -> None:
    assert trouble(text) == why


def test_the_parts_in_the_manifest_make_up_the_whole_text() -> None:
    text = "ä😀\x01" * 20_000
    with Manifest() as manifest:
        assert manifest.held(text, sheet="Rows", row=2, column="Name") == POINTER
        rows = list(manifest.rows())
    assert {row[:5] for row in rows} == {("Rows", 2, "Name", 60_000, TOO_LONG)}
    assert json.loads("".join(row[6] for row in rows)) == text
    assert all(trouble(row[6]) is None for row in rows)


@pytest.mark.parametrize(
    ("value", "held"),
    [(2**53, 2**53), (2**53 + 1, "9007199254740993"), (-(2**53) - 1, "-9007199254740993"), (0.1, 0.1), (True, "true")],
)
def test_a_number_that_a_sheet_would_round_is_text(value: Any, held: Any) -> None:
    assert plain(value) == held


def test_text_stays_text_in_a_sheet(tmp_path: Path) -> None:
    cells = ["=1+1", "http://x.example", "0012", "_x0041_", "a\r\nb\rc", " a ", "\x01", "{=A1}", "1e5"]
    headings = [f"H{number}" for number in range(len(cells))]
    write(tmp_path / "a.xlsx", layout(1, *headings), [stored(1, *cells)])
    rows = CalamineWorkbook.from_path(tmp_path / "a.xlsx").get_sheet_by_name("Rows").to_python()
    assert rows == [[*headings, "Status", "Error"], [*cells, "DONE", ""]]
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet


def test_rows_that_do_not_fit_go_on_in_further_sheets_with_the_header_again(tmp_path: Path) -> None:
    rows = [stored(number, str(number)) for number in range(1, 8)]
    assert write(tmp_path / "a.xlsx", layout(7, "A"), rows, sheet_rows=4) == (7, 0)
    read = CalamineWorkbook.from_path(tmp_path / "a.xlsx")
    assert read.sheet_names == ["Rows", "Rows 2", "Rows 3", "Manifest"]
    sheets = [read.get_sheet_by_name(name).to_python() for name in read.sheet_names[:3]]
    assert [[row[0] for row in sheet] for sheet in sheets] == [
        ["A", "1", "2", "3"],
        ["A", "4", "5", "6"],
        ["A", "7"],
    ]


def test_a_job_without_rows_gives_a_sheet_with_its_headings(tmp_path: Path) -> None:
    write(tmp_path / "a.xlsx", layout(0, "A"), [])
    rows = CalamineWorkbook.from_path(tmp_path / "a.xlsx").get_sheet_by_name("Rows").to_python()
    assert rows == [["A", "Status", "Error"]]


def test_more_rows_than_were_counted_are_refused_instead_of_lost(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Export it again"):
        rows = [stored(number, "x") for number in range(4)]
        write(tmp_path / "a.xlsx", layout(3, "A"), rows, sheet_rows=4)


def test_cells_that_a_sheet_cannot_hold_are_named_with_their_place_and_text(tmp_path: Path) -> None:
    rows = [stored(1, "x", "y" * 40_000), stored(2, "\uffff", "\x02", error="\x03 went wrong")]
    assert write(tmp_path / "a.xlsx", layout(2, "A", "B"), rows) == (2, 4)
    read = CalamineWorkbook.from_path(tmp_path / "a.xlsx")
    found = read.get_sheet_by_name("Rows").to_python()
    assert found[1:] == [["x", POINTER, "DONE", ""], [POINTER, "\x02", "DONE", "\x03 went wrong"]]
    listed = read.get_sheet_by_name("Manifest").to_python()[1:]
    places = [(row[0], row[1], row[2], row[3]) for row in listed if row[5] == 1]
    assert places == [("Rows", 2, "B", 40_000), ("Rows", 3, "A", 1), ("Rows", 3, "B", 1), ("Rows", 3, "Error", 12)]
    assert json.loads(listed[0][6] + listed[1][6]) == "y" * 40_000


def test_edited_rows_stand_where_they_stood_and_nowhere_else() -> None:
    # Row 3 was edited twice, row 5 once; the copies were stored behind the ten rows.
    edits = Edits([(3, 11), (5, 12), (11, 13)])

    def ranges(after: int, last_id: int) -> list[tuple[int, int]]:
        page = Page(job_id=1, after=after, last_id=last_id, rows=last_id - after)
        return [(piece.after + 1, piece.last_id) for piece in edits.pieces(page)]

    assert ranges(0, 13) == [(1, 2), (13, 13), (4, 4), (12, 12), (6, 10)]
    assert ranges(5, 9) == [(6, 9)]
    assert ranges(10, 13) == []
    assert edits.rows(Page(job_id=1, after=9, last_id=13, rows=4)) == 1
