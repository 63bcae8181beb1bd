"""Inside the capped child: decodes one image and says what it tells. Nothing here runs in a service or worker."""

import io
import warnings

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from penstock.console.files.capped_child import Send
from penstock.console.files.frames import Header
from penstock.console.files.image_codes import codes_in
from penstock.console.files.image_metadata import exif_of, orientation_of
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
    small = image.copy() if max(image.size) <= _THUMBNAIL_PIXELS else _reduced(image)
    turned = small.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else small
    return turned.convert("RGB")


def _reduced(image: Image.Image) -> Image.Image:
    factor = _THUMBNAIL_PIXELS / max(image.size)
    size = tuple(max(round(side * factor), 1) for side in image.size)
    return image.resize((size[0], size[1]), Image.Resampling.LANCZOS, reducing_gap=3.0)


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
