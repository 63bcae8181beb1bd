"""What a file is, whatever it is called."""

import gzip
import io
import zipfile
from contextlib import suppress

import pytest
import xlsxwriter
from PIL import Image

from penstock.console.files.kinds import kind_of
from penstock.console.files.refused import FileRefused


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name in names:
            made.writestr(name, b"content of it " * 10)
    return out.getvalue()


def streamed_archive(*names: str) -> bytes:
    """As written to a pipe: lengths stand behind the data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, b"content of it " * 10)
    return pipe.data


def workbook() -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        book.add_worksheet().write_string(0, 0, "x")
    return out.getvalue()


def image(form: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, form)
    return out.getvalue()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
@pytest.mark.parametrize("name", ["photo", "photo.png", "photo.csv"])
def test_images_are_known_by_their_content(form, name):
    assert kind_of(image(form), name) == "image"


@pytest.mark.parametrize("name", ["products.xlsx", "products.csv", "products.zip", ""])
def test_workbooks_are_known_by_their_content(name):
    assert kind_of(workbook(), name) == "xlsx"


def test_archives_are_zips_unless_they_are_workbooks():
    assert kind_of(archive("a.jpg", "b.jpg"), "photos.zip") == "zip"
    assert kind_of(archive("a.jpg", "b.jpg"), "photos") == "zip"
    assert kind_of(streamed_archive("docProps/app.xml", "_rels/.rels", "xl/workbook.xml"), "x") == "xlsx"
    assert kind_of(archive("[Content_Types].xml", "docProps/app.xml"), "x") == "xlsx"  # the reader finds out


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"sku,title\n1,Lamp\n", "products.csv"),
        (b"sku\ttitle\n1\tLamp\n", "products.tsv"),
        (b"sku;title\n1;Lamp\n", "products.txt"),
        (b"sku,title\n", "products"),
        (b"\xef\xbb\xbfsku,title\n", "x.csv"),
        ("sku,title\n".encode("utf-16"), "x.csv"),
        (b"PK,title\n1,Lamp\n", "x.csv"),
        (b"BM,title of the columns\n1,Lamp\n", "x.csv"),
        (b"MZ,title\n1,Lamp\n", "x.csv"),
        (b"BZ,title\n1,Lamp\n", "x.csv"),
        (b"id,<b>markup</b>\n", "x.csv"),
    ],
)
def test_everything_that_reads_like_text_may_be_a_csv(text, name):
    assert kind_of(text, name) == "csv"


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "is empty"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF"),
        (b"\r\n\r\n%PDF-1.4\n", "is a PDF"),
        (archive("[Content_Types].xml", "word/document.xml"), "is a Word document"),
        (archive("[Content_Types].xml", "ppt/presentation.xml"), "is a presentation"),
        (archive("[Content_Types].xml", "xl/workbook.bin"), "is a binary Excel workbook"),
        (archive("mimetype", "content.xml"), "is an OpenDocument file"),
        (archive("META-INF/MANIFEST.MF", "a.class"), "is a program"),
        (archive(), "is an empty archive"),
        (gzip.compress(b"sku,title\n", mtime=0), "is a gzip archive"),
        (OLD, "is an old Excel or Word file"),
        (OLD + "EncryptedPackage".encode("utf-16-le"), "is protected with a password"),
        (b"\x7fELF\x02\x01\x01\0", "is a program"),
        (b"MZ\x90\0\x03\0\0\0", "is a program"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "is an HTML page"),
        (b"\xef\xbb\xbf \n<HTML>", "is an HTML page"),
        (b"<?xml version='1.0'?><svg/>", "is an XML file"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "is a HEIC or AVIF image"),
        (b"{\\rtf1\\ansi", "is an RTF document"),
        (b"SQLite format 3\0", "is a database"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "is a 7-Zip archive"),
    ],
)
def test_what_is_no_table_and_no_image_is_refused_though_it_is_called_csv(head, words):
    with pytest.raises(FileRefused, match=words) as refused:
        kind_of(head, "products.csv")
    assert str(refused.value).startswith("'products.csv' ")
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xlsx", "named like an Excel workbook"),
        ("a.XLS", "named like an Excel workbook"),
        ("a.zip", "named like a zip archive"),
        ("a.jpeg", "named like an image"),
    ],
)
def test_text_under_the_name_of_something_else_is_refused(name, words):
    with pytest.raises(FileRefused, match=words):
        kind_of(b"sku,title\n1,Lamp\n", name)


def test_any_bytes_get_an_answer_or_a_refusal():
    for size in range(64):
        for begin in (b"PK\x03\x04", b"RIFF", b"BM", b"II*\0", b"\0", b"\xff"):
            with suppress(FileRefused):
                assert kind_of(begin + b"\x01" * size, "x") in ("csv", "image", "xlsx", "zip")
