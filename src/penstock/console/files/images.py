"""What an image tells: its size, its metadata, its look and the codes printed on it.

Decoders of images are a favourite door for attackers and for accidents, so they run in capped children, which are kept
for many images because starting one takes longer than looking at a photo.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from penstock.console.files.capped import CappedChild, Caps
from penstock.console.files.capped_pool import CappedPool
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError

# Ten seconds of work; on a busy machine they may take longer on the clock.
# 50 megapixels with transparency are 200 MB decoded; a WEBP of that size takes four times as much on the way.
CAPS = Caps(memory_mb=1024, cpu_seconds=10, answer_seconds=30.0)
MOST_PIXELS = 50_000_000
MOST_BYTES = 50 * 1024 * 1024
_PARSER = "penstock.console.files.image_facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """``format`` as scanners call it: EAN-13, QR Code, … A UPC-A comes as the EAN-13 with a zero before it."""

    format: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """``width`` and ``height`` as the image is meant to be seen; ``perceptual_hash`` is a difference hash (dHash) of 64
    bits in hex: images whose hashes differ in few bits look alike; ``thumbnail`` is a JPEG without metadata."""

    format: str
    width: int
    height: int
    mode: str
    exif: dict[str, str]
    perceptual_hash: str
    thumbnail: bytes
    codes: list[Code]


class ImageReader:
    """Looks at ``children`` images at a time; more wait. Raises :class:`FileRefused` for what it cannot read."""

    def __init__(self, *, children: int = 2, caps: Caps = CAPS, most_pixels: int = MOST_PIXELS) -> None:
        self._children = CappedPool(_PARSER, caps, subject="image")
        self._most_pixels = most_pixels
        self._threads = ThreadPoolExecutor(children, thread_name_prefix="penstock-images")

    async def look(self, data: bytes) -> ImageFacts:
        if len(data) > MOST_BYTES:
            problem = f"the image is {len(data):,} bytes long; at most {MOST_BYTES:,} are read."
            raise FileRefused(problem, "Make it smaller.")
        if self._children.closed:
            raise self._ended()
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._look, data)

    def close(self) -> None:
        """Ends the children. Looks that are under way end with a :class:`TransientError`."""
        self._children.end()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._children.close()

    # ---------------------------------------------------------------- in a thread

    def _look(self, data: bytes) -> ImageFacts:
        try:
            with self._children.lent() as child:
                return _facts(child, data, self._most_pixels)
        except (FileRefused, TransientError):
            if self._children.closed:
                raise self._ended() from None
            raise

    def _ended(self) -> TransientError:
        return TransientError("The reader of images was closed. Try again.")


def _facts(child: CappedChild, data: bytes, most_pixels: int) -> ImageFacts:
    answer = list(child.ask({"most_pixels": most_pixels}, data))
    told, thumbnail = answer[0]
    return ImageFacts(**told | {"thumbnail": thumbnail, "codes": [Code(**one) for one in told["codes"]]})
