"""From Wikidata's JSON to entities. Pure; what is broken or of no use for matching is left out."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from penstock.extensions.linking.entity import (
    DAY,
    MONTH,
    YEAR,
    DateValue,
    Entity,
    ItemValue,
    NumberValue,
    PlaceValue,
    TextValue,
    Value,
)

INSTANCE_OF = "P31"
_TEXTS = frozenset({"string", "external-id", "url", "monolingualtext"})
# What an entity of thousands of statements may take in the cache.
_MOST_VALUES = 50
_LONGEST_TEXT = 500
_CENTURY = 7
_TIME = re.compile(r"([+-]\d{1,16})-(\d\d)-(\d\d)T")
_JULIAN = "/Q1985786"
_EARTH = "/Q2"


def entity_of(data: Mapping[str, Any]) -> Entity | None:
    """None for what is missing, and for what is no entity at all."""
    id = data.get("id")
    if not isinstance(id, str) or "missing" in data:
        return None
    claims = dict(_claims(_object(data.get("claims"))))
    types = claims.get(INSTANCE_OF, ())
    return Entity(
        id=id,
        labels=dict(_terms(_object(data.get("labels")))),
        aliases={language: names for language, names in _aliases(_object(data.get("aliases"))) if names},
        descriptions=dict(_terms(_object(data.get("descriptions")))),
        types=tuple(value.id for value in types if isinstance(value, ItemValue)),
        claims=claims,
        links=len(_object(data.get("sitelinks"))),
    )


def _object(data: Any) -> Mapping[str, Any]:
    """An empty one may come as a list: the API is written in PHP."""
    return data if isinstance(data, dict) else {}


def _terms(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for language, term in given.items():
        text = text_of(_object(term).get("value"))
        if text:
            yield language, text


def _aliases(given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for language, terms in given.items():
        texts = (text_of(_object(term).get("value")) for term in terms) if isinstance(terms, list) else ()
        yield language, tuple(text for text in texts if text)


def _claims(given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Value, ...]]]:
    for name, statements in given.items():
        if not isinstance(statements, list):
            continue
        kept = [one for one in map(_object, statements) if one.get("rank") != "deprecated"]
        kept.sort(key=lambda one: one.get("rank") != "preferred")
        values = [value for one in kept for value in _values(_object(one.get("mainsnak")))]
        if values:
            yield name, tuple(values[:_MOST_VALUES])


def _values(snak: Mapping[str, Any]) -> Iterable[Value]:
    """Nothing for "some value", "no value", and datatypes that say nothing about who or what it is."""
    if snak.get("snaktype") != "value":
        return ()
    value: Any = _object(snak.get("datavalue")).get("value")
    kind = snak.get("datatype")
    try:
        if kind in _TEXTS:
            return tuple(_texts(value))
        if kind == "wikibase-item":
            return (ItemValue(id=value["id"]),) if isinstance(value["id"], str) else ()
        if kind == "time":
            return tuple(_dates(value))
        if kind == "globe-coordinate":
            return tuple(_places(value))
        return tuple(_numbers(value)) if kind == "quantity" else ()
    except (KeyError, TypeError, ValueError, OverflowError):
        return ()


def _texts(value: Any) -> Iterator[Value]:
    text = text_of(value["text"] if isinstance(value, dict) else value)
    if text:
        yield TextValue(text=text)


def text_of(value: Any) -> str | None:
    """Without NUL, which PostgreSQL does not keep, and no longer than anything that is compared."""
    return value.replace("\0", "").strip()[:_LONGEST_TEXT] if isinstance(value, str) else None


def _dates(value: Mapping[str, Any]) -> Iterator[Value]:
    """A day of the Julian calendar comes twice: as it was said, and as the day it is in ours. Files have either."""
    precision = min(int(value["precision"]), DAY)
    found = _TIME.match(value["time"])
    if found is None or precision < _CENTURY:
        return
    year, month, day = (int(part) for part in found.groups())
    if precision >= MONTH and not 1 <= month <= 12:
        precision = YEAR
    if precision == DAY and not 1 <= day <= 31:
        precision = MONTH
    said = DateValue(
        year=year,
        month=month if precision >= MONTH else None,
        day=day if precision == DAY else None,
        precision=precision,
    )
    yield said
    if precision == DAY and str(value.get("calendarmodel", "")).endswith(_JULIAN):
        yield gregorian(year, month, day)


def gregorian(year: int, month: int, day: int) -> DateValue:
    """The same day by our calendar. There is no year 0: -1 is the year before 1."""
    counted = year if year > 0 else year + 1
    centuries = (counted - (month < 3)) // 100
    # Our calendar repeats every 400 years, and ``date`` begins with the year 1.
    before = 400 * (counted // 400 - 1)
    there = date(counted - before, month, 1) + timedelta(days=day - 1 + centuries - centuries // 4 - 2)
    counted = there.year + before
    return DateValue(year=counted if counted > 0 else counted - 1, month=there.month, day=there.day, precision=DAY)


def _places(value: Mapping[str, Any]) -> Iterator[Value]:
    """A crater of the moon has coordinates too; they are of no use on earth."""
    latitude, longitude = float(value["latitude"]), float(value["longitude"])
    globe = value.get("globe") or _EARTH
    if str(globe).endswith(_EARTH) and abs(latitude) <= 90 and abs(longitude) <= 360:
        yield PlaceValue(latitude=latitude, longitude=longitude)


def _numbers(value: Mapping[str, Any]) -> Iterator[Value]:
    amount = float(value["amount"])
    unit = str(value.get("unit", "1")).rpartition("/")[2]
    if math.isfinite(amount):
        yield NumberValue(amount=amount, unit=None if unit == "1" else unit)
