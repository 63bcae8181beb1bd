"""Archives of images, honest and not."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import psutil
import pytest
from PIL import Image

from penstock.console.files.refused import FileRefused
from penstock.console.files.zip_images import ZipSkipped, entries

MB = 1024 * 1024


def image(color: str = "red", form: str = "JPEG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (16, 16), color).save(out, form)
    return out.getvalue()


def pack(path: Path, *files: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path


def refused(path: Path, **given) -> str:
    with pytest.raises(FileRefused) as caught:
        list(entries(path, **given))
    return str(caught.value)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "upload"


def test_images_come_out_as_they_were_packed_in_their_order(path):
    pack(path, ("b/z.jpg", image("red")), ("a.png", image("blue", "PNG")), ("c", image("green", "WEBP")))
    found = [(one.name, one.data) for one in entries(path)]
    assert found == [("b/z.jpg", image("red")), ("a.png", image("blue", "PNG")), ("c", image("green", "WEBP"))]


def test_everything_else_is_skipped_with_a_reason(path):
    inner = pack(path.with_name("inner"), ("x.jpg", image())).read_bytes()
    pack(path, ("a.jpg", image()), ("read me.txt", b"hello"), ("more.zip", inner), ("none.jpg", b""), ("lie.png", b"x"))
    skipped: list[ZipSkipped] = []
    assert [one.name for one in entries(path, skipped=skipped.append)] == ["a.jpg"]
    assert {one.name: one.reason for one in skipped} == {
        "read me.txt": "it is no JPEG, PNG, WEBP, GIF, TIFF or BMP image",
        "more.zip": "an archive inside an archive is not opened",
        "none.jpg": "it is empty",
        "lie.png": "it is no JPEG, PNG, WEBP, GIF, TIFF or BMP image",
    }


def test_folders_and_leftovers_of_file_managers_are_not_worth_a_word(path):
    leftovers = [
        ("photos/", b""),
        ("__MACOSX/photos/._a.jpg", b"\0\5"),
        ("photos/.DS_Store", b"x"),
        ("Thumbs.db", b"x"),
    ]
    pack(path, *leftovers, ("photos/a.jpg", image()))
    skipped: list[ZipSkipped] = []
    assert [one.name for one in entries(path, skipped=skipped.append)] == ["photos/a.jpg"]
    assert skipped == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_of_one_name_are_kept_apart(path):
    pack(path, ("p/a.jpg", image("red")), ("p/a.jpg", image("blue")), ("p/a (2).jpg", image("green")))
    found = list(entries(path))
    assert len({one.name for one in found}) == 3
    assert found[1].name == "p/a (2).jpg"
    assert [one.data for one in found] == [image("red"), image("blue"), image("green")]


@pytest.mark.parametrize("name", ["../a.jpg", "x/../../a.jpg", "/etc/a.jpg", "..\\a.jpg", "C:\\a.jpg", "C:/a.jpg"])
def test_names_that_lead_outside_are_refused(path, name):
    assert "points outside" in refused(pack(path, (name, image())))


def test_links_are_refused(path):
    link = zipfile.ZipInfo("a.jpg")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "'a.jpg' in the archive is a link" in refused(pack(path, (link, b"/etc/passwd")))


def test_encrypted_archives_are_refused(path):
    data = bytearray(pack(path, ("a.jpg", image())).read_bytes())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(sign) + offset] |= 1
    path.write_bytes(data)
    assert "'a.jpg' in the archive is encrypted. Pack it without a password." in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_need_much_memory_are_refused(path, method):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.jpg", image())
    assert f"compressed with method {method}" in refused(path)


def test_more_entries_than_allowed_are_refused(path):
    pack(path, *((f"{n}.txt", b"") for n in range(11)))
    assert "holds 11 entries; at most 10" in refused(path, most=10)


def bomb(megabytes: int) -> bytes:
    """Begins like an image, so that it is unpacked."""
    return image() + b"\0" * (megabytes * MB)


def test_an_image_that_is_too_large_is_refused_while_it_is_unpacked(path):
    before = psutil.Process().memory_info().rss
    pack(path, ("a.jpg", bomb(60)))
    assert path.stat().st_size < MB
    assert "'a.jpg' in the archive is larger than 25 MB" in refused(path)
    assert psutil.Process().memory_info().rss - before < 150 * MB


def test_the_sum_of_all_images_is_limited(path):
    pack(path, *((f"{n}.jpg", bomb(2)) for n in range(4)))
    taken = []
    with pytest.raises(FileRefused, match="unpacks to more than 5 MB"):
        for one in entries(path, total_bytes=5 * MB):
            taken.append(one.name)
    assert taken == ["0.jpg", "1.jpg"]


def test_a_size_that_is_a_lie_does_not_help_a_bomb(path):
    """The declared size is 100 bytes; what is unpacked counts, and an entry that is no whole one is refused."""
    data = bytearray(pack(path, ("a.jpg", bomb(30))).read_bytes())
    struct.pack_into("<L", data, data.find(b"PK\x01\x02") + 24, 100)
    struct.pack_into("<L", data, data.find(b"PK\x03\x04") + 22, 100)
    path.write_bytes(data)
    assert "damaged" in refused(path)


def test_entries_that_overlap_cannot_multiply(path):
    """Many entries of the table of contents over the same bytes."""
    data = pack(path, ("a.jpg", bomb(4))).read_bytes()
    begin, end = data.find(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    table = data[begin:end] * 50
    tail = bytearray(data[end:])
    struct.pack_into("<HHL", tail, 8, 50, 50, len(table))
    path.write_bytes(data[:begin] + table + bytes(tail))
    words = refused(path, total_bytes=20 * MB)
    assert "unpacks to more than 20 MB" in words or "damaged" in words


@pytest.mark.parametrize("cut", [10, 100, 200])
def test_an_archive_that_is_cut_off_is_refused(path, cut):
    data = pack(path, ("a.jpg", image()), ("b.jpg", image())).read_bytes()
    path.write_bytes(data[:-cut])
    assert "damaged or cut off" in refused(path)


def test_damaged_content_is_refused(path):
    data = bytearray(pack(path, ("a.jpg", image())).read_bytes())
    at = 30 + len("a.jpg") + 40
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)
    assert "damaged or cut off" in refused(path)


def test_a_table_of_contents_that_points_nowhere_is_refused(path):
    data = bytearray(pack(path, ("a.jpg", image())).read_bytes())
    struct.pack_into("<L", data, data.find(b"PK\x01\x02") + 42, 0x7FFFFFFF)
    path.write_bytes(data)
    assert "damaged" in refused(path)


def test_a_table_of_contents_of_many_megabytes_is_refused_before_it_is_read(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100):
            entry = zipfile.ZipInfo(f"{number}.jpg")
            entry.comment = b"x" * 60_000
            archive.writestr(entry, b"")
    assert "table of contents of the archive is longer than 4 MB" in refused(path)
