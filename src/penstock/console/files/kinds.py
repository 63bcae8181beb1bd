"""What kind of file it is: by its content first, by its name where the content leaves it open."""

import struct
from pathlib import PurePosixPath
from typing import Literal

from penstock.console.files.refused import FileRefused

Kind = Literal["csv", "xlsx", "zip", "image"]

IMAGE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")
_TAKEN = "Upload a CSV, an XLSX workbook, images, or a zip of images."
_AS_XLSX = "Save it as an Excel workbook (.xlsx) or as CSV."
_UNPACK = "Unpack it first."
_LOCAL_ENTRY = b"PK\x03\x04"
_LOCAL_HEADER = struct.Struct("<4s5HLLLHH")
# Length unknown when the entry was begun: it stands behind the data, so the next entry has to be searched.
_STREAMED = 0x8
_BMP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FOREIGN = (
    (b"\x1f\x8b", "a gzip archive", _UNPACK),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ\0", "an xz archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x7fELF", "a program", _TAKEN),
    (b"\xcf\xfa\xed\xfe", "a program", _TAKEN),
    (b"{\\rtf", "an RTF document", _AS_XLSX),
    (b"SQLite format 3\0", "a database", _AS_XLSX),
    (b"PAR1", "a Parquet file", _AS_XLSX),
    (b"%!PS", "a PostScript file", _AS_XLSX),
)
_MARKUP = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML file"),
)
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif")
_NAMED = {
    ".xlsx": "an Excel workbook",
    ".xlsm": "an Excel workbook",
    ".xls": "an Excel workbook",
    ".zip": "a zip archive",
    ".pdf": "a PDF",
} | dict.fromkeys((".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp"), "an image")


def kind_of(head: bytes, file_name: str) -> Kind:
    """``head``: the first megabyte of the file, or all of it. Raises :class:`FileRefused` for any other kind."""
    if not head:
        raise FileRefused(f"{_called(file_name)} is empty.", _TAKEN)
    if image_format_of(head) is not None:
        return "image"
    suffix = PurePosixPath(file_name.lower()).suffix
    if head.startswith(b"PK"):
        kind = _archive(head, suffix, file_name)
        if kind is not None:
            return kind
    _refuse_foreign(head, file_name)
    if suffix in _NAMED:
        problem = f"{_called(file_name)} is named like {_NAMED[suffix]}, but its content is not one."
        raise FileRefused(problem, _TAKEN)
    return "csv"


def image_format_of(head: bytes) -> str | None:
    """The name of an image format that is taken, by its first 32 bytes."""
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WEBP"
    if head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return "TIFF"
    # Two letters alone could begin a table.
    if head.startswith(b"BM") and len(head) >= 18 and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "BMP"
    return None


def _archive(head: bytes, suffix: str, file_name: str) -> Kind | None:
    """Workbook, document or plain zip, by the names of the first entries."""
    if head.startswith(b"PK\x05\x06"):
        raise FileRefused(f"{_called(file_name)} is an empty archive.", _TAKEN)
    if not head.startswith(_LOCAL_ENTRY):
        return None  # a table may begin with these two letters
    names = _entry_names(head)
    if any(name == b"xl/workbook.bin" for name in names):
        raise _foreign(file_name, "a binary Excel workbook (.xlsb)", _AS_XLSX)
    if any(name.startswith(b"xl/") for name in names):
        return "xlsx"
    if any(name.startswith(b"word/") for name in names):
        raise _foreign(file_name, "a Word document", _AS_XLSX)
    if any(name.startswith(b"ppt/") for name in names):
        raise _foreign(file_name, "a presentation", _AS_XLSX)
    if names[0] == b"mimetype":
        raise _foreign(file_name, "an OpenDocument file or an e-book", _AS_XLSX)
    if b"META-INF/MANIFEST.MF" in names:
        raise _foreign(file_name, "a program", _TAKEN)
    # The part that tells may lie behind the head; reading the workbook proper finds out.
    return "xlsx" if suffix in (".xlsx", ".xlsm") or names[0] == b"[Content_Types].xml" else "zip"


def _entry_names(head: bytes) -> list[bytes]:
    names: list[bytes] = []
    at = 0
    while at >= 0 and at + _LOCAL_HEADER.size <= len(head) and head.startswith(_LOCAL_ENTRY, at):
        _, _, flags, _, _, _, _, packed, _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack_from(head, at)
        begin = at + _LOCAL_HEADER.size
        names.append(head[begin : begin + name_bytes])
        following = begin + name_bytes + extra_bytes
        at = head.find(_LOCAL_ENTRY, following) if flags & _STREAMED else following + packed
    return names or [b""]


def _refuse_foreign(head: bytes, file_name: str) -> None:
    if head.startswith(_COMPOUND):
        if "EncryptedPackage".encode("utf-16-le") in head:
            problem = f"{_called(file_name)} is protected with a password."
            raise FileRefused(problem, "Save it without one.")
        raise _foreign(file_name, "an old Excel or Word file, or one protected with a password", _AS_XLSX)
    if b"%PDF-" in head[:1024]:
        raise _foreign(file_name, "a PDF", _AS_XLSX)
    if head.startswith(b"MZ") and b"\0" in head[:256]:
        raise _foreign(file_name, "a program", _TAKEN)
    if head[4:8] == b"ftyp":
        named = "a HEIC or AVIF image" if head[8:12] in _HEIF_BRANDS else "a video"
        raise _foreign(file_name, named, f"Images are taken as {', '.join(IMAGE_FORMATS)}.")
    for sign, what, next_step in _FOREIGN:
        if head.startswith(sign):
            raise _foreign(file_name, what, next_step)
    text = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for sign, what in _MARKUP:
        if text.startswith(sign):
            raise _foreign(file_name, what, _AS_XLSX)


def _foreign(file_name: str, what: str, next_step: str) -> FileRefused:
    return FileRefused(f"{_called(file_name)} is {what}.", next_step)


def _called(file_name: str) -> str:
    return repr(file_name) if file_name else "the file"
