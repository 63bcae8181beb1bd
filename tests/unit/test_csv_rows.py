"""CSV as people send it: found out, read exactly, refused with a reason."""

import csv
import io
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.console.files.csv_rows import read, shape_of_head
from penstock.console.files.refused import FileRefused


def source(data: bytes, size: int = 7) -> Callable[[], bytes]:
    """In small pieces, so that characters and line ends are cut everywhere."""
    pieces = iter([data[at : at + size] for at in range(0, len(data), size)])
    return lambda: next(pieces, b"")


def rows_of(data: bytes, **given: object) -> list[list[str]]:
    shape = shape_of_head(data, whole=True, **given)  # type: ignore[arg-type]
    return list(read(source(data), shape))


CELL = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=10),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    line_end=st.sampled_from(["\r\n", "\n"]),
)
def test_every_cell_comes_back_as_it_was_written(rows, delimiter, encoding, line_end):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(
        [["a", "b", "c"], *rows]
    )
    data = out.getvalue().encode(encoding)
    assert rows_of(data, delimiter=delimiter, header=True) == rows


@pytest.mark.parametrize(
    ("text", "delimiter", "columns"),
    [
        ("title,brand,price\nLamp,Ikea,12\n", ",", ("title", "brand", "price")),
        ("title;brand;price\nLamp, big;Ikea;12,50\n", ";", ("title", "brand", "price")),
        ("title\tprice\nLamp\t12\n", "\t", ("title", "price")),
        ("title|price\nLamp|12\n", "|", ("title", "price")),
        ("only\none\ntwo\n", ",", ("only",)),
        ('title,note\nLamp,"a; b; c"\nDesk,"d; e; f"\n', ",", ("title", "note")),
        ("4006381333931,Lamp\n4006381333932,Desk\n", ",", ("Column 1", "Column 2")),
        ("sku,name,\n1,Lamp,\n", ",", ("sku", "name")),
        ("'sku','name'\n'1','Lamp, big'\n", ",", ("sku", "name")),
    ],
)
def test_delimiter_quotes_and_header_are_found_out(text, delimiter, columns):
    shape = shape_of_head(text.encode(), whole=True)
    assert (shape.delimiter, shape.columns) == (delimiter, columns)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_the_encoding_is_found_out(encoding):
    text = "Titel;Größe;Preis\n" + "Küchenstühle für draußen;größer als üblich;12,50 €\n" * 30
    assert rows_of(text.encode(encoding))[0] == ["Küchenstühle für draußen", "größer als üblich", "12,50 €"]


def test_a_file_without_header_gives_its_first_line_as_a_row():
    assert rows_of(b"4006381333931,Lamp\n4006381333932,Desk\n") == [
        ["4006381333931", "Lamp"],
        ["4006381333932", "Desk"],
    ]


@pytest.mark.parametrize(
    ("data", "given", "words"),
    [
        (b"", {}, "holds no rows"),
        (b"\n\n", {}, "holds no rows"),
        (b"a,b,a\n1,2,3\n", {}, "columns 1 and 3 are both called 'a'"),
        (b"a,,c\n1,2,3\n", {"header": True}, "column 2 has no heading"),
        (b"a,b\n1,\0\n", {}, "NUL"),
        (b"%PDF-1.7\0\xff\xfe\x80", {}, "not text"),
        (b"a,b\n" + b"1," * 5000 + b"\n", {}, "5,001 columns; at most 2,000"),
        (b"a,b\n\xff,2\n", {"encoding": "utf-8"}, "not utf-8: byte 0xff"),
        (b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding is called 'klingon'"),
    ],
)
def test_what_cannot_be_a_csv_is_refused_with_the_reason(data, given, words):
    with pytest.raises(FileRefused, match=words):
        rows_of(data, **given)


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (b'x,"open\n', "Row 3: a quoted cell is not closed"),
        (b'x,"a"b\n', "Row 3: there is text behind a closing quote"),
        (b"x,\xff\xff\n", "Row 3: byte 0xff is not utf-8"),
        (b"x,\0\n", "Row 3: cell 2 holds a NUL"),
    ],
)
def test_a_bad_row_is_named_and_those_before_it_are_given(tail, words):
    good = b"a,b\n1,2\n3,4\n"
    found = []
    with pytest.raises(FileRefused, match=words):
        for row in read(source(good + tail), shape_of_head(good, whole=False)):
            found.append(row)
    assert found == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize(("begin", "endless"), [(b"", b"x" * 65_536), (b'"', b"x\n" * 32_768), (b"", b"," * 65_536)])
def test_an_endless_row_is_refused_before_it_fills_the_memory(begin, endless):
    def chunks() -> Iterator[bytes]:
        yield b"a,b\n1,2\n" + begin
        while True:
            yield endless

    pieces = chunks()
    tracemalloc.start()
    with pytest.raises(FileRefused, match=r"Row 2: (it is longer than|a cell is too long)"):
        list(read(lambda: next(pieces), shape_of_head(b"a,b\n1,2\n", whole=False)))
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_the_limit_is_one_of_a_row_and_not_of_the_file():
    data = b"a,b\n" + b"1,2\n" * 50_000
    assert sum(1 for _ in read(source(data, 65_536), shape_of_head(data, whole=True), row_bytes=100)) == 50_000


@pytest.mark.parametrize(
    "name",
    [
        *("zlib_codec", "bz2", "hex", "rot13", "base64", "uu", "quopri", "punycode", "idna", "undefined"),
        *("unicode_escape", "raw_unicode_escape", "Unicode-Escape", "\0", "utf-8\0", "\ud800", "aliases", ""),
    ],
)
def test_only_encodings_of_text_files_may_be_named(name):
    with pytest.raises(FileRefused, match="no encoding is called"):
        shape_of_head(zlib.compress(b"a,b\n" * 1000), whole=True, encoding=name)


def test_utf_16_without_its_mark_is_refused_with_a_reason():
    with pytest.raises(FileRefused, match=r"the file is not utf-16: .*BOM"):
        shape_of_head("a,b\n1,2\n".encode("utf-16-le"), whole=True, encoding="utf-16")
    assert rows_of("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16-le") == [["1", "2"]]
