"""Coordinates in the notations that datasets have, compared by distance."""

import math
import re
from functools import lru_cache

from penstock.extensions.linking.entity import PlaceValue
from penstock.extensions.linking.scoring.weights import Finding, best

_EARTH_KM = 6371.0
# From each distance on, how well two places agree. A town's centre is several kilometres from its edge.
_STEPS_KM = ((1.0, 1.0), (5.0, 0.95), (15.0, 0.8), (40.0, 0.5), (100.0, 0.2))
# A longer text is none, and may be made to keep the patterns below busy.
_LONGEST = 100
# Longitude before latitude, if only that reading is near.
_SWAPPED = 0.85

_POINT = re.compile(r"point\s*\(\s*(-?[\d.]+)\s+(-?[\d.]+)\s*\)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"^\s*(-?\d+,\d+)\s*[;/ ]\s*(-?\d+,\d+)\s*$")
_PLAIN = re.compile(r"^\s*(?:geo:)?\(?\s*([-+]?\d+(?:\.\d+)?)\s*°?\s*[,;/ ]\s*([-+]?\d+(?:\.\d+)?)\s*°?\s*\)?\s*$")
_DEGREES = (
    r"(\d+(?:[.,]\d+)?)\s*(?:°|º|deg)?\s*(?:(\d+(?:[.,]\d+)?)\s*['′’]?\s*)?(?:(\d+(?:[.,]\d+)?)\s*(?:[\"″”]|'')?\s*)?"
)
_LETTER_BEFORE = re.compile(rf"([NSEWO])\s*{_DEGREES}", re.IGNORECASE)
_LETTER_BEHIND = re.compile(rf"{_DEGREES}\s*([NSEWO])(?![A-Z])", re.IGNORECASE)


def compare(text: str, there: PlaceValue) -> Finding:
    points = read(text)
    if not points:
        return Finding(kind="place", value=None, said=f"{text!r} is no place that can be read")
    return best([_compare(point, there, most) for point, most in points])


@lru_cache(maxsize=5_000)
def read(text: str) -> tuple[tuple[tuple[float, float], float], ...]:
    """Latitude and longitude as written, then the other way round; each with the most it can count."""
    point = _read(text) if len(text) <= _LONGEST else None
    if point is None:
        return ()
    both = ((point, 1.0), (point[::-1], _SWAPPED))
    return tuple(one for one in both if abs(one[0][0]) <= 90 and abs(one[0][1]) <= 180)


def distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    (south, west), (north, east) = (map(math.radians, point) for point in (one, other))
    half = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


def _read(text: str) -> tuple[float, float] | None:
    if match := _POINT.search(text):
        return float(match[2]), float(match[1])
    if match := _DECIMAL_COMMA.match(text):
        return float(match[1].replace(",", ".")), float(match[2].replace(",", "."))
    if match := _PLAIN.match(text):
        return float(match[1]), float(match[2])
    return _degrees(text)


def _degrees(text: str) -> tuple[float, float] | None:
    """Degrees, minutes, seconds with a letter for the direction, before or behind."""
    latitude = longitude = None
    before = text.strip()[:1].isalpha()
    for found in (_LETTER_BEFORE if before else _LETTER_BEHIND).findall(text):
        direction, *angles = found if before else (found[3], *found[:3])
        angle = sum(float(part.replace(",", ".")) / 60**at for at, part in enumerate(angles) if part)
        if direction.upper() in ("N", "S"):
            latitude = -angle if direction.upper() == "S" else angle
        else:
            longitude = -angle if direction.upper() == "W" else angle
    return None if latitude is None or longitude is None else (latitude, longitude)


def _compare(point: tuple[float, float], there: PlaceValue, most: float) -> Finding:
    apart = distance_km(point, (there.latitude, there.longitude))
    value = next((value for limit, value in _STEPS_KM if apart <= limit), 0.0)
    said = f"{apart:.1f} km apart" if apart < 100 else f"{apart:,.0f} km apart"
    if most < 1.0:
        said += ", with latitude and longitude swapped"
    return Finding(kind="place", value=value * most, said=said)
