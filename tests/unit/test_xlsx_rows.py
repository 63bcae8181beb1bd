"""Workbooks as people send them, and as attackers do."""

import datetime as dt
import zipfile
from pathlib import Path

import psutil
import pytest
import xlsxwriter

from penstock.console.files import zip_directory
from penstock.console.files.capped import Caps
from penstock.console.files.refused import FileRefused
from penstock.console.files.xlsx_rows import read, shape_of_file
from penstock.console.files.xlsx_workbook import text_of
from tests.unit.workbooks import BOOK, cell, sheet, table, write

MB = 1024 * 1024
EASY = table([["sku", "title"], ["007", "Lamp"]])


def moment_of(*parts: int) -> dt.datetime:
    """Workbooks know no time zones."""
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def rows_of(path: Path, **given) -> list[list[str]]:
    return list(read(path, shape_of_file(path, **given)))


def refused(path: Path, **given) -> str:
    with pytest.raises(FileRefused) as caught:
        rows_of(path, **given)
    return str(caught.value)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "upload"  # as spooled: no suffix helps


# -------------------------------------------------------------------- reading


def test_cells_are_the_text_that_people_see(path):
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Products")
        day, moment, clock, hours = (
            book.add_format({"num_format": form})
            for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "hh:mm:ss", "[h]:mm:ss")
        )
        page.write_row(0, 0, ["text", "number", "date", "flag"])
        page.write_row(1, 0, ["007", 12, "", True])
        page.write_datetime(1, 2, moment_of(2024, 5, 1), day)
        page.write_row(2, 0, [" spaced ", 0.1, "", False])
        page.write_datetime(2, 2, moment_of(2024, 5, 1, 12, 30, 1), moment)
        page.write_string(4, 0, "=no formula")
        page.write_number(4, 1, 4006381333931)
        page.write_datetime(4, 2, dt.time(12, 30, 1), clock)
        page.write_string(5, 0, "ä\n€")
        page.write_formula(5, 1, "=1+1", None, 2)
        page.write_datetime(5, 2, dt.timedelta(hours=30, minutes=5), hours)
    assert shape_of_file(path).columns == ("text", "number", "date", "flag")
    assert rows_of(path) == [
        ["007", "12", "2024-05-01", "TRUE"],
        [" spaced ", "0.1", "2024-05-01T12:30:01", "FALSE"],
        ["=no formula", "4006381333931", "12:30:01", ""],
        ["ä\n€", "2", "30:05:00", ""],
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e22, "10000000000000000000000"),
        (1e-9, "0.000000001"),
        (-0.5, "-0.5"),
        (-3.0, "-3"),
        (2.0**53, "9007199254740992"),
        (moment_of(2024, 5, 1, 1, 2, 3, 4000), "2024-05-01T01:02:03.004"),
        (dt.timedelta(hours=-1), "-1:00:00"),
        (True, "TRUE"),
        (7, "7"),
    ],
)
def test_numbers_are_written_in_full_and_times_in_iso(value, text):
    assert text_of(value) == text


def test_the_sheet_is_the_first_visible_one_or_the_one_asked_for(path):
    with xlsxwriter.Workbook(path) as book:
        hidden, first, second = (book.add_worksheet(name) for name in ("Notes", "Products", "2024"))
        for page in (hidden, first, second):
            page.write_column(0, 0, ["where", page.name])
        first.activate()
        first.set_first_sheet()
        hidden.hide()
    assert shape_of_file(path).sheets == ("Notes", "Products", "2024")
    assert rows_of(path) == [["Products"]]
    assert rows_of(path, sheet="Notes") == [["Notes"]]
    assert rows_of(path, sheet="2024") == [["2024"]]
    assert rows_of(path, sheet=3) == [["2024"]]
    assert rows_of(path, sheet="2") == [["Products"]]
    assert "no sheet 'Prices'. Choose one of 'Notes', 'Products', '2024'" in refused(path, sheet="Prices")
    assert "no sheet 4" in refused(path, sheet=4)
    assert "no sheet 0" in refused(path, sheet=0)


def test_without_a_header_the_columns_get_names(path):
    write(path, table([["4006381333931", "Lamp"], ["4006381333932", "Desk"]]))
    assert shape_of_file(path).columns == ("Column 1", "Column 2")
    assert len(rows_of(path)) == 2
    assert shape_of_file(path, header=True).columns == ("4006381333931", "Lamp")
    assert len(rows_of(path, header=True)) == 1


def test_rows_reach_to_the_last_heading_and_keep_what_stands_beyond(path):
    write(path, table([["a", "b", "c"], ["1"], ["1", "2", "3", "4"]]))
    assert rows_of(path, header=True) == [["1", "", ""], ["1", "2", "3", "4"]]


def test_a_hundred_thousand_rows_stream_through_a_small_parent(path):
    write(path, table([["sku", "title"], *([f"{n:08}", f"Lamp {n}"] for n in range(100_000))]))
    shape = shape_of_file(path)
    before = psutil.Process().memory_info().rss
    rows = read(path, shape)
    assert next(rows) == ["00000000", "Lamp 0"]
    highest = max(psutil.Process().memory_info().rss for number, _ in enumerate(rows) if number % 10_000 == 9_998)
    assert highest - before < 10 * MB
    assert sum(1 for _ in read(path, shape)) == 100_000


def test_closing_the_rows_ends_the_child(path):
    write(path, table([["n"], *([str(n)] for n in range(20_000))]))
    before = {child.pid for child in psutil.Process().children()}
    rows = read(path, shape_of_file(path, header=True))
    next(rows)
    [child] = [one for one in psutil.Process().children() if one.pid not in before]
    rows.close()  # type: ignore[attr-defined]
    assert not child.is_running()


# -------------------------------------------------------------------- refusals of tables


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "holds no rows"),
        ([["sku", "title"]], "a header and no rows"),
        ([["sku", "sku"], ["1", "2"]], "the columns 1 and 2 are both called 'sku'"),
    ],
)
def test_a_table_that_is_none_is_refused(path, rows, words):
    assert words in refused(write(path, table(rows)))


def test_a_heading_that_is_missing_is_refused(path):
    assert "column 2 has no heading" in refused(write(path, table([["a", "", "c"], ["1", "2", "3"]])), header=True)


def test_too_many_columns_are_refused(path):
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, [f"c{n}" for n in range(2001)])
        page.write_row(1, 0, ["x"])
    assert "has 2,001 columns; at most 2,000" in refused(path)


def test_a_nul_character_is_refused_with_its_row(path):
    write(path, table([["sku"], ["a"], ["b_x0000_c"]]))
    assert refused(path, header=True).startswith("Row 2: cell 1 holds a NUL character.")


def test_a_row_that_is_too_long_is_refused_with_its_number(path):
    write(path, table([["a", "b"], ["1", "2"], ["x" * 200_000, "y" * 200_000]]))
    assert refused(path, header=True).startswith("Row 2: it is longer than 262,144 bytes.")


# -------------------------------------------------------------------- attacks and accidents


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_workbook_that_is_cut_off_is_refused(path, share):
    data = write(path, table([["n"], *([str(n * 7919)] for n in range(2000))])).read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert "damaged or cut off" in refused(path)


@pytest.mark.parametrize(
    "broken", [EASY[: len(EASY) // 2], EASY.replace("Lamp", "&lamp;"), EASY.replace("<row r", "<row r=<")]
)
def test_a_sheet_with_broken_xml_is_refused_and_not_read_in_part(path, broken):
    assert "the sheet 'Products' is damaged" in refused(write(path, broken))


def test_other_archives_are_no_workbooks(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "hello")
    assert "no Excel workbook" in refused(path)


@pytest.mark.parametrize(
    "prologue",
    [
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        '<?xml version="1.0"?>\n<!-- <a> -->\n<!doctype x>',
        '<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused(path, prologue, encoding):
    xml = sheet(f'<row r="1">{cell("A1", "a")}</row><row r="2">{cell("A2", "b")}</row>', prologue)
    assert "declares a document type or entities" in refused(write(path, xml.encode(encoding)))


def test_a_document_type_behind_a_long_comment_is_refused(path):
    prologue = f'<?xml version="1.0"?><!--{"x" * 100_000}--><!DOCTYPE x>'
    assert "sheet1.xml' in the workbook is not XML" in refused(write(path, sheet("", prologue)))


def test_a_workbook_that_unpacks_to_too_much_is_refused(path):
    write(path, EASY, further={"xl/media/a.bin": b"\0" * (2 * MB)})
    assert "unpacks to 2 MB; at most 1 are read" in _refused_shape(path, unpacked_bytes=MB)


def test_a_bomb_is_refused_by_its_ratio_before_it_is_unpacked(path):
    write(path, EASY, further={"xl/sharedStrings.xml": b"<sst>" + b" " * (30 * MB)})
    words = refused(path)
    assert "'xl/sharedStrings.xml' unpacks to" in words and "at most 200" in words


def test_too_many_entries_are_refused(path):
    write(path, EASY, further={f"xl/{n}": b"" for n in range(10_000)})
    assert "holds 10,005 entries; at most 10,000" in refused(path)


def test_a_table_of_contents_too_long_for_memory_is_refused(path, monkeypatch):
    write(path, EASY, further={f"xl/{n:0200}": b"" for n in range(500)})
    monkeypatch.setattr(zip_directory, "_DIRECTORY_BYTES", 100_000)
    with pytest.raises(FileRefused, match="table of contents of the archive is longer"):
        with zip_directory.opened(path):
            pass


def test_an_encrypted_entry_is_refused(path):
    data = bytearray(write(path, EASY).read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    assert "is encrypted" in refused(path)


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/evil.xml", "xl\\..\\..\\evil.xml", "C:/evil.xml"])
def test_names_that_lead_outside_are_refused(path, name):
    assert "points outside" in refused(write(path, EASY, further={name: b""}))


def test_one_cell_at_the_far_end_of_a_sheet_does_not_eat_the_memory(path):
    """Seventeen thousand million cells are reserved by the parser: its child dies, nobody else."""
    rows = f'<row r="1">{cell("A1", "a")}</row><row r="1048576">{cell("XFD1048576", "b")}</row>'
    before = psutil.Process().memory_info().rss
    assert "needs more than 1,536 MB to be read" in refused(write(path, sheet(rows)))
    assert psutil.Process().memory_info().rss - before < 10 * MB


def test_a_sheet_larger_than_the_cap_is_refused(path):
    write(path, table([["a", "b"], *([f"{n:050}", "x" * 200] for n in range(20_000))]))
    caps = Caps(memory_mb=8, cpu_seconds=30, answer_seconds=60.0)
    assert "needs more than 8 MB" in _refused_shape(path, caps=caps)


def test_a_workbook_without_sheets_is_refused(path):
    book = BOOK.replace('<sheet name="Products" sheetId="1" r:id="r1"/>', "")
    assert "no sheet with rows" in refused(write(path, EASY, book=book))


def _refused_shape(path: Path, **given) -> str:
    with pytest.raises(FileRefused) as caught:
        shape_of_file(path, **given)
    return str(caught.value)
