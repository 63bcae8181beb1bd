"""Inside the capped child: decodes one image and says what it tells. Nothing here runs in a service or worker."""

import io
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import zxingcpp
from PIL import (
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from penstock.console.files.capped_child import Send
from penstock.console.files.frames import Header
from penstock.console.files.kinds import IMAGE_FORMATS, image_format_of
from penstock.console.files.refused import FileRefused

# Imported before the memory is capped; Pillow would load them when it meets the first image.
_PLUGINS = (BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
_THUMBNAIL_PIXELS = 256
_THUMBNAIL_QUALITY = 80
_AGAIN = "Send it again, or save it anew."
# How to undo what EXIF says about the way the camera was held.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDEWAYS = 5


def serve(order: Header, blob: bytes, send: Send) -> None:
    # Our own limit of pixels stands; a warning of the library beside it says nothing more.
    Image.MAX_IMAGE_PIXELS = None
    warnings.simplefilter("ignore")
    try:
        image = _opened(blob, order["most_pixels"])
        _decode(image)
        send(*_facts(image))
    except (FileRefused, MemoryError, ConnectionError):
        raise
    except Exception as error:  # a decoder may raise anything at all on a damaged file
        raise FileRefused(f"the image is damaged ({type(error).__name__}: {error}).", _AGAIN) from None


def _opened(data: bytes, most_pixels: int) -> Image.Image:
    """Reads the head only: size and format are judged before a single pixel is decoded."""
    if image_format_of(data[:32]) is None:
        raise FileRefused(f"it is no image of a kind that is read ({', '.join(IMAGE_FORMATS)}).", "Convert it.")
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
    except UnidentifiedImageError:
        raise FileRefused("the image is damaged: its head cannot be read.", _AGAIN) from None
    width, height = image.size
    if width * height > most_pixels:
        size = f"{width:,} × {height:,} pixels"
        raise FileRefused(f"the image has {size}; at most {most_pixels:,} are decoded.", "Make it smaller.")
    if not width or not height:
        raise FileRefused("the image has no pixels.", _AGAIN)
    return image


def _decode(image: Image.Image) -> None:
    """Of several frames the first: that is the one people see first."""
    try:
        image.load()
    except (OSError, EOFError) as error:
        if isinstance(error, EOFError) or "truncated" in str(error) or "more data" in str(error):
            raise FileRefused("the image is cut off.", "Send it again.") from None
        raise


def _facts(image: Image.Image) -> tuple[Header, bytes]:
    width, height = image.size
    orientation = orientation_of(image)
    if orientation >= _SIDEWAYS:
        width, height = height, width
    exif = exif_of(image)
    plain = _without_transparency(image)
    small = _small(plain, orientation)
    codes = codes_in(plain if plain.mode == "L" else plain.convert("L"))
    told = {
        "format": str(image.format),
        "width": width,
        "height": height,
        "mode": image.mode,
        "exif": exif,
        "perceptual_hash": _difference_hash(small),
        "codes": codes,
    }
    return told, _jpeg(small)


def _without_transparency(image: Image.Image) -> Image.Image:
    """L or RGB, on white as a page would show it: black bars on nothing must not become black on black."""
    if image.mode in ("L", "RGB") and "transparency" not in image.info:
        return image
    if image.mode == "F" or image.mode.startswith("I"):
        return _eight_bits(image)
    if image.has_transparency_data:
        seen = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(seen, mask=seen.getchannel("A"))
        return white
    return image.convert("L" if image.mode == "1" else "RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Of deeper ones, from the darkest to the lightest pixel there is."""
    deep = image.convert("F")
    extrema = deep.getextrema()
    low, high = float(str(extrema[0])), float(str(extrema[1]))
    scale = 255.0 / (high - low) if high > low else 1.0
    return deep.point(lambda value: value * scale - low * scale).convert("L")


def _small(image: Image.Image, orientation: int) -> Image.Image:
    """Turned after it was made small, which spares a copy of the large one."""
    small = _at_most(image, _THUMBNAIL_PIXELS, Image.Resampling.LANCZOS, gap=3.0)
    turned = small.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else small
    return turned.convert("RGB")


def _difference_hash(small: Image.Image) -> str:
    """Each bit says whether a pixel of the picture made 9 × 8 is darker than its right neighbour."""
    grey = small.convert("L").resize((9, 8), Image.Resampling.BOX).tobytes()
    bits = 0
    for row in range(8):
        for column in range(8):
            at = row * 9 + column
            bits = bits << 1 | (grey[at] < grey[at + 1])
    return f"{bits:016x}"


def _jpeg(small: Image.Image) -> bytes:
    small.info.clear()  # a comment or colour profile of the original would be written along
    out = io.BytesIO()
    small.save(out, "JPEG", quality=_THUMBNAIL_QUALITY, exif=b"")
    return out.getvalue()


# -------------------------------------------------------------------- what cameras wrote into it

_MOST_TAGS = 200
_MOST_TAG_CHARACTERS = 500
_GPS = {ExifTags.GPS.GPSLatitude: ExifTags.GPS.GPSLatitudeRef, ExifTags.GPS.GPSLongitude: ExifTags.GPS.GPSLongitudeRef}
# Offsets and blobs that mean something to the camera's maker only.
_DULL = frozenset({"ExifOffset", "GPSInfo", "MakerNote", "PrintImageMatching", "InteropOffset", "XMLPacket"})


def orientation_of(image: Image.Image) -> int:
    """1 to 8, as EXIF counts; 1 where it is missing or nonsense."""
    try:
        value = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # metadata may be broken in any way; the picture is still there
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def exif_of(image: Image.Image) -> dict[str, str]:
    told: dict[str, str] = {}
    try:
        exif = image.getexif()
        _tell(told, exif, ExifTags.TAGS)
        _tell(told, exif.get_ifd(ExifTags.IFD.Exif), ExifTags.TAGS)
        places = exif.get_ifd(ExifTags.IFD.GPSInfo)
        _tell(told, places, ExifTags.GPSTAGS)
        _tell_degrees(told, places)
    except Exception:  # broken metadata: what was read until here is all there is
        pass
    return told


def _tell(told: dict[str, str], tags: Mapping[int, Any], names: Mapping[int, str]) -> None:
    for tag, value in tags.items():
        name = names.get(tag)
        if name is None or name in _DULL or len(told) >= _MOST_TAGS:
            continue
        text = _text(value)
        if text:
            told[name] = text


def _text(value: object) -> str:
    if isinstance(value, bytes):
        # Comments begin with the name of their encoding; what is not text is left out.
        value = value.removeprefix(b"ASCII\0\0\0").rstrip(b"\0 ")
        if not value.isascii():
            return ""
        value = value.decode("ascii")
    elif isinstance(value, tuple):
        value = ", ".join(_text(part) for part in value[:32])
    kept = "".join(sign for sign in str(value) if sign.isprintable()).strip()
    return kept[:_MOST_TAG_CHARACTERS]


def _tell_degrees(told: dict[str, str], places: Mapping[int, Any]) -> None:
    """Degrees, minutes and seconds as one number, which maps understand."""
    for tag, reference in _GPS.items():
        parts = places.get(tag)
        if isinstance(parts, tuple) and len(parts) == 3:
            degrees = sum(float(part) / 60**power for power, part in enumerate(parts))
            sign = -1 if places.get(reference) in ("S", "W") else 1
            told[ExifTags.GPSTAGS[tag]] = f"{sign * degrees:.6f}"


# -------------------------------------------------------------------- barcodes and QR codes

_MOST_CODES = 50
_MOST_CODE_CHARACTERS = 4096
_USUAL_PIXELS = 2000
_LARGE_PIXELS = 4000
_NARROW_PIXELS = 800
_TINY_PIXELS = 400
# The rest of the ten seconds an image may take is for decoding it.
_SEARCH_SECONDS = 4.0
# A larger view takes longer than its pixels alone would say.
_GROWTH = 2.0


def codes_in(grey: Image.Image) -> list[dict[str, str]]:
    """Other views are tried only while nothing is found: most photos of products show their code readily.

    A view is left out when, by what the views before it took, the time would not suffice: a noisy picture of 50
    megapixels alone would keep the search busy for longer than an image may take.
    """
    began = time.process_time()
    slowest = 0.0
    for view in _views(grey):
        pixels = view.width * view.height
        at = time.process_time()
        if at - began + slowest * pixels * _GROWTH > _SEARCH_SECONDS:
            continue
        if found := _read(view):
            return found
        slowest = max(slowest, (time.process_time() - at) / pixels)
    return []


def _views(grey: Image.Image) -> Iterator[Image.Image]:
    """The library itself turns by quarters; bars that lie askew, blurred or too fine need more."""
    usual = _at_most(grey, _USUAL_PIXELS)
    yield usual
    if usual is not grey:
        yield _at_most(grey, _LARGE_PIXELS)
    if max(usual.size) > _NARROW_PIXELS:
        yield _at_most(usual, _NARROW_PIXELS)
    yield ImageOps.autocontrast(usual, cutoff=2)
    if max(grey.size) <= _TINY_PIXELS:
        yield ImageOps.expand(grey.resize((grey.width * 3, grey.height * 3), Image.Resampling.BICUBIC), 30, fill=255)
    for degrees in (45, 22, 68):
        yield usual.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    if max(grey.size) > _LARGE_PIXELS:
        yield grey


def _at_most(
    image: Image.Image, pixels: int, way: Image.Resampling = Image.Resampling.BOX, *, gap: float = 2.0
) -> Image.Image:
    if max(image.size) <= pixels:
        return image
    factor = pixels / max(image.size)
    size = (max(round(image.width * factor), 1), max(round(image.height * factor), 1))
    return image.resize(size, way, reducing_gap=gap)


def _read(image: Image.Image) -> list[dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one in zxingcpp.read_barcodes(image):
        # Control characters come spelt out (<NUL>), so the text can be stored.
        text = one.text.replace("\0", "")[:_MOST_CODE_CHARACTERS]
        if one.valid and text:
            found.setdefault((str(one.format), text), {"format": str(one.format), "text": text})
    return list(found.values())[:_MOST_CODES]
