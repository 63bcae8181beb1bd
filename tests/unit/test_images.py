"""What images tell, and what happens to those that try something."""

import asyncio
import io
import os
import struct
import zlib

import psutil
import pytest
import zxingcpp
from PIL import ExifTags, Image, ImageDraw

from penstock.console.files.capped import Caps
from penstock.console.files.images import Code, ImageFacts, ImageReader
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError

MB = 1024 * 1024
GTIN = "4006381333931"


@pytest.fixture(scope="module")
def reader():
    """One for all tests: its child has to bear every image of them."""
    made = ImageReader(children=1)
    yield made
    made.close()


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def printed(text: str, form: zxingcpp.BarcodeFormat = zxingcpp.BarcodeFormat.EAN13, scale: int = 3) -> Image.Image:
    return drawn(zxingcpp.create_barcode(text, form), scale)


def drawn(code: zxingcpp.Barcode, scale: int) -> Image.Image:
    return Image.fromarray(code.to_image(scale=scale))


def scene(width: int = 400, height: int = 300) -> Image.Image:
    """Something with a left, a right, a top and a bottom."""
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    pen = ImageDraw.Draw(image)
    pen.ellipse((width * 0.1, height * 0.1, width * 0.4, height * 0.5), fill="red")
    pen.rectangle((width * 0.6, height * 0.5, width * 0.9, height * 0.9), fill="blue")
    return image


def bits_apart(one: ImageFacts, other: ImageFacts) -> int:
    return (int(one.perceptual_hash, 16) ^ int(other.perceptual_hash, 16)).bit_count()


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children()}


async def refused(reader: ImageReader, data: bytes) -> str:
    with pytest.raises(FileRefused) as caught:
        await reader.look(data)
    return str(caught.value)


# -------------------------------------------------------------------- facts


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
async def test_every_format_that_is_taken_is_read(reader, form):
    facts = await reader.look(encoded(scene(), form))
    assert (facts.format, facts.width, facts.height) == (form, 400, 300)
    thumbnail = Image.open(io.BytesIO(facts.thumbnail))
    assert (thumbnail.format, thumbnail.size) == ("JPEG", (256, 192))
    assert len(facts.perceptual_hash) == 16
    assert facts.codes == []


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
async def test_every_mode_is_shown(reader, mode):
    form = "TIFF" if mode in ("CMYK", "F", "I") else "PNG"
    image = scene().convert("I").point(lambda value: value * 200).convert("I;16") if mode == "I;16" else None
    facts = await reader.look(encoded(image or scene().convert(mode), form))
    shown = Image.open(io.BytesIO(facts.thumbnail)).convert("L")
    pixels = shown.tobytes()
    assert max(pixels) - min(pixels) > 100


async def test_hashes_of_alike_images_are_near_and_of_others_far(reader):
    large = await reader.look(encoded(scene(1600, 1200), "JPEG", quality=90))
    small = await reader.look(encoded(scene(400, 300), "JPEG", quality=30))
    other = await reader.look(encoded(scene().transpose(Image.Transpose.ROTATE_180)))
    assert bits_apart(large, small) <= 4
    assert bits_apart(large, other) >= 12


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_an_image_is_shown_the_way_the_camera_was_held(reader, orientation):
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    stored = scene()
    if orientation > 1:
        stored = stored.transpose(Image.Transpose(undo[orientation]))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    facts = await reader.look(encoded(stored, "JPEG", exif=exif, quality=95))
    upright = await reader.look(encoded(scene(), "JPEG", quality=95))
    assert (facts.width, facts.height) == (400, 300)
    assert bits_apart(facts, upright) <= 3


async def test_exif_is_told_as_text_and_left_out_of_the_thumbnail(reader):
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Cam\0era & Co\x07"
    exif[ExifTags.Base.Software] = "x" * 5000
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2024:05:01 12:00:00"
    places = exif.get_ifd(ExifTags.IFD.GPSInfo)
    places[ExifTags.GPS.GPSLatitudeRef], places[ExifTags.GPS.GPSLatitude] = "S", (33.0, 51.0, 36.0)
    facts = await reader.look(encoded(scene(), "JPEG", exif=exif, comment=b"private"))
    assert facts.exif["DateTimeOriginal"] == "2024:05:01 12:00:00"
    assert facts.exif["GPSLatitude"] == "-33.860000"
    assert "\0" not in facts.exif["Make"]
    assert len(facts.exif["Software"]) == 500
    thumbnail = Image.open(io.BytesIO(facts.thumbnail))
    assert not thumbnail.getexif()
    assert b"private" not in facts.thumbnail


async def test_broken_exif_does_not_cost_the_image(reader):
    facts = await reader.look(encoded(scene(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\x7f" + os.urandom(40)))
    assert facts.width == 400


# -------------------------------------------------------------------- codes


@pytest.mark.parametrize(
    ("form", "text", "name"),
    [
        (zxingcpp.BarcodeFormat.EAN13, GTIN, "EAN-13"),
        (zxingcpp.BarcodeFormat.EAN8, "96385074", "EAN-8"),
        (zxingcpp.BarcodeFormat.Code128, "SKU-00417", "Code 128"),
        (zxingcpp.BarcodeFormat.QRCode, "https://shop.example/p/7?ä=€", "QR Code"),
        (zxingcpp.BarcodeFormat.DataMatrix, "SKU-00417", "Data Matrix"),
    ],
)
async def test_barcodes_and_qr_codes_are_read(reader, form, text, name):
    facts = await reader.look(encoded(printed(text, form)))
    assert facts.codes == [Code(format=name, text=text)]


async def test_a_upc_is_told_as_the_ean_that_it_is(reader):
    facts = await reader.look(encoded(printed("036000291452", zxingcpp.BarcodeFormat.UPCA)))
    assert facts.codes == [Code(format="EAN-13", text="0036000291452")]


async def test_bars_that_lie_askew_in_a_photo_are_read(reader):
    page = Image.new("RGB", (2400, 1800), "beige")
    page.paste(printed(GTIN, scale=4).rotate(42, expand=True, fillcolor=255), (900, 500))
    facts = await reader.look(encoded(page, "JPEG"))
    assert [code.text for code in facts.codes] == [GTIN]


async def test_a_small_code_in_a_large_photo_is_read(reader):
    page = Image.new("RGB", (5000, 4000), "beige")
    page.paste(printed(GTIN, scale=2), (3000, 2500))
    facts = await reader.look(encoded(page, "JPEG", quality=95))
    assert [code.text for code in facts.codes] == [GTIN]


async def test_several_codes_are_all_told_once(reader):
    page = Image.new("L", (900, 900), 255)
    page.paste(printed(GTIN), (20, 20))
    page.paste(printed(GTIN), (20, 300))
    page.paste(printed("hello", zxingcpp.BarcodeFormat.QRCode, scale=6), (500, 600))
    facts = await reader.look(encoded(page))
    assert {(code.format, code.text) for code in facts.codes} == {("EAN-13", GTIN), ("QR Code", "hello")}
    assert len(facts.codes) == 2


async def test_black_bars_on_nothing_are_read_as_on_white(reader):
    bars = printed(GTIN)
    clear = Image.new("RGBA", bars.size, (0, 0, 0, 0))
    clear.putalpha(bars.point(lambda value: 255 - value))
    facts = await reader.look(encoded(clear))
    assert [code.text for code in facts.codes] == [GTIN]


async def test_bytes_in_a_code_become_text_that_can_be_stored(reader):
    code = zxingcpp.create_barcode(b"a\0\xff\x01b", zxingcpp.BarcodeFormat.QRCode)
    facts = await reader.look(encoded(drawn(code, 4)))
    assert "\0" not in facts.codes[0].text
    facts.codes[0].text.encode("utf-8")


# -------------------------------------------------------------------- refusals


async def test_too_many_pixels_are_refused_before_they_are_decoded(reader):
    data = encoded(Image.new("1", (20_000, 20_000)))
    assert len(data) < MB
    words = await refused(reader, data)
    assert words == "the image has 20,000 × 20,000 pixels; at most 50,000,000 are decoded. Make it smaller."


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
async def test_an_image_that_is_cut_off_is_refused(reader, form):
    options = {"compression": "tiff_deflate"} if form == "TIFF" else {}
    data = encoded(Image.effect_noise((300, 300), 80), form, **options)
    words = await refused(reader, data[: len(data) // 2])
    assert "the image is cut off" in words or "the image is damaged" in words


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
async def test_the_sentence_says_that_it_is_cut_off(reader, form):
    data = encoded(Image.effect_noise((300, 300), 80), form)
    assert await refused(reader, data[: len(data) // 2]) == "the image is cut off. Send it again."


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"%PDF-1.7",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
        b"P6 2 2 255\n" + b"\0" * 12,
        b"\0\0\0\x0cjP  \r\n\x87\n",
    ],
)
async def test_other_formats_are_refused_though_the_library_knows_them(reader, data):
    assert (await refused(reader, data)).startswith("it is no image of a kind that is read (JPEG, PNG,")


async def test_nonsense_behind_a_good_beginning_is_refused(reader):
    for begin in (b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"II*\0\x08\0\0\0"):
        assert "the image is" in await refused(reader, begin + bytes(range(256)) * 4)
    assert (await reader.look(encoded(scene()))).width == 400


async def test_text_that_inflates_inside_a_png_is_refused(reader):
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    data = encoded(scene())
    bomb = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"\0" * (100 * MB)))
    words = await refused(reader, data[:33] + bomb + data[33:])
    assert "the image is damaged" in words


async def test_a_file_that_is_too_long_is_refused_before_it_is_sent(reader):
    assert "52,428,801 bytes long; at most" in await refused(reader, b"\xff\xd8\xff" + b"\0" * (50 * MB - 2))


# -------------------------------------------------------------------- the reader


async def test_an_image_that_needs_too_much_memory_is_refused_and_the_next_is_read():
    reader = ImageReader(children=1, caps=Caps(memory_mb=60, cpu_seconds=10, answer_seconds=30.0))
    before = psutil.Process().memory_info().rss
    try:
        data = encoded(Image.new("RGB", (6000, 6000), "red"))
        before = psutil.Process().memory_info().rss
        assert "the image needs more than 60 MB to be read" in await refused(reader, data)
        assert psutil.Process().memory_info().rss - before < 10 * MB
        assert (await reader.look(encoded(scene()))).width == 400
    finally:
        reader.close()


async def test_one_child_looks_at_many_images_and_survives_the_bad_ones(reader):
    good, bad = encoded(scene()), encoded(scene(), "JPEG")[:500]
    await reader.look(good)
    before = children()
    for _ in range(5):
        await refused(reader, bad)
        await reader.look(good)
    assert children() == before


async def test_images_are_looked_at_side_by_side():
    before = children()
    reader = ImageReader(children=2)
    try:
        found = await asyncio.gather(*(reader.look(encoded(scene(100 + n, 90))) for n in range(8)))
        assert [facts.width for facts in found] == list(range(100, 108))
        assert len(children() - before) == 2
    finally:
        reader.close()


async def test_closing_ends_looks_under_way_and_every_child():
    before = children()
    reader = ImageReader(children=1)
    await reader.look(encoded(scene()))
    assert children() > before
    slow = asyncio.ensure_future(reader.look(encoded(Image.effect_noise((4000, 4000), 90), "JPEG")))
    while not reader._children._busy:
        await asyncio.sleep(0)
    await asyncio.to_thread(reader.close)
    with pytest.raises(TransientError, match="closed"):
        await slow
    with pytest.raises(TransientError, match="closed"):
        await reader.look(encoded(scene()))
    assert children() == before
