"""Pictures of products: what they show, and which product their codes name."""

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import Penstock
from penstock.console.files.files import read_all
from penstock.console.files.images import MOST_BYTES, ImageFacts, ImageReader
from penstock.console.files.refused import FileRefused
from penstock.errors import PayloadTooLarge, PermanentError
from penstock.extensions.catalogue.understood import NoGtin, Understood, gtin_of

# A result is read with every page of the grid: a larger picture stays in the file it came in.
_THUMBNAIL_BYTES = 20 * 1024
# GS1: the number of the item, inside a link or in front of batch and date.
_ITEM = re.compile(r"(?:/01/|\(01\)|^01)(\d{14})")
_SHORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{2,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """``understood`` None: its codes name no product."""

    name: str
    facts: ImageFacts
    understood: Understood | None

    @property
    def codes(self) -> list[str]:
        return [code.text for code in self.facts.codes]

    def columns(self) -> dict[str, Any]:
        return {
            "Image size": f"{self.facts.width} × {self.facts.height}",
            "Codes": ", ".join(f"{code.format} {code.text}" for code in self.facts.codes),
        }

    def normalized(self) -> dict[str, Any]:
        """Everything else that was seen. The thumbnail comes along where it is small."""
        facts = self.facts
        seen: dict[str, Any] = {
            "image": self.name,
            "format": facts.format,
            "width": facts.width,
            "height": facts.height,
            "exif": facts.exif,
            "perceptual_hash": facts.perceptual_hash,
            "codes": [{"format": code.format, "text": code.text} for code in facts.codes],
        }
        thumbnail = base64.b64encode(facts.thumbnail).decode()
        if thumbnail and len(thumbnail) <= _THUMBNAIL_BYTES:
            seen["thumbnail"] = f"data:image/jpeg;base64,{thumbnail}"
        return seen


class Pictures:
    """Made at the first image, so that a fleet without images starts no child for them."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._reader: ImageReader | None = None

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    async def look(self, image: Mapping[str, Any], *, job_id: int | None) -> Picture:
        """``job_id``: of the task. Its input may name any file, and only those of its job are read."""
        name, file_id = str(image.get("name") or "the image"), image.get("file_id")
        if not isinstance(file_id, int):
            raise PermanentError(f"The image {name!r} has no file. Upload it again.")
        if self._reader is None:
            self._reader = ImageReader()
        try:
            facts = await self._reader.look(await read_all(self._app, file_id, MOST_BYTES, job_id=job_id))
        except (FileRefused, PayloadTooLarge) as error:
            raise PermanentError(f"{name}: {error}") from None
        return Picture(name=name, facts=facts, understood=product_named_by(code.text for code in facts.codes))


def product_named_by(codes: Iterable[str]) -> Understood | None:
    """The first code that is a GTIN; else the first that could be an article number."""
    texts = list(codes)
    for text in texts:
        inside = _ITEM.search(text)
        try:
            return Understood(gtin=gtin_of(inside[1] if inside else text))
        except NoGtin:
            continue
    for text in texts:
        if _SHORT_NAME.fullmatch(text) and "//" not in text:
            return Understood(sku=text.upper())
    return None
