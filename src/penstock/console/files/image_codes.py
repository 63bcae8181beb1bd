"""Inside the capped child: barcodes and QR codes in a grey image."""

import time
from collections.abc import Iterator

import zxingcpp
from PIL import Image, ImageOps

_MOST_CODES = 50
_MOST_CHARACTERS = 4096
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


def _at_most(image: Image.Image, pixels: int) -> Image.Image:
    if max(image.size) <= pixels:
        return image
    factor = pixels / max(image.size)
    size = (max(round(image.width * factor), 1), max(round(image.height * factor), 1))
    return image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def _read(image: Image.Image) -> list[dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one in zxingcpp.read_barcodes(image):
        # Control characters come spelt out (<NUL>), so the text can be stored.
        text = one.text.replace("\0", "")[:_MOST_CHARACTERS]
        if one.valid and text:
            found.setdefault((str(one.format), text), {"format": str(one.format), "text": text})
    return list(found.values())[:_MOST_CODES]
