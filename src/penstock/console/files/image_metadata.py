"""Inside the capped child: what cameras wrote into an image, as short readable text."""

from collections.abc import Mapping
from typing import Any

from PIL import ExifTags, Image

_MOST_TAGS = 200
_MOST_CHARACTERS = 500
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
    return kept[:_MOST_CHARACTERS]


def _tell_degrees(told: dict[str, str], places: Mapping[int, Any]) -> None:
    """Degrees, minutes and seconds as one number, which maps understand."""
    for tag, reference in _GPS.items():
        parts = places.get(tag)
        if isinstance(parts, tuple) and len(parts) == 3:
            degrees = sum(float(part) / 60**power for power, part in enumerate(parts))
            sign = -1 if places.get(reference) in ("S", "W") else 1
            told[ExifTags.GPSTAGS[tag]] = f"{sign * degrees:.6f}"
