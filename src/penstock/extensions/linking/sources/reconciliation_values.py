"""From the JSON of a reconciliation service to its manifest and entities. Pure; what is broken is left out."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from penstock.extensions.linking.entity import (
    DAY,
    MONTH,
    YEAR,
    DateValue,
    Entity,
    ItemValue,
    NumberValue,
    TextValue,
    Value,
)
from penstock.extensions.linking.sources.wikidata_values import text_of

# What the service found out by itself is kept beside the claims: no property has such a name.
FEATURE = "feature:"
MATCH = f"{FEATURE}match"
_MOST_VALUES = 50
# Ids are keys in the cache.
_LONGEST_ID = 200
_HUNDRED = 100.0
# Version 0.2 has no field for it; what later versions say is followed within these bounds.
_USUAL_BATCH, _LARGEST_BATCH = 10, 50
_DATE = re.compile(r"([+-]?\d{1,6})(?:-(\d\d))?(?:-(\d\d))?(?:T.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a service says about itself. ``proposals_url``: where it names the properties of a type. ``types``: what it
    knows mostly."""

    batch_size: int
    extends: bool
    proposals_url: str | None
    types: tuple[str, ...]


def manifest_of(data: Any, url: str) -> Manifest | None:
    """None: that is no manifest. Fields that are broken count as not offered."""
    if not isinstance(data, dict) or not ({"versions", "identifierSpace", "schemaSpace"} & data.keys()):
        return None
    extend = data.get("extend")
    size = data.get("batchSize")
    usable = isinstance(size, int) and not isinstance(size, bool) and size >= 1
    given = data.get("defaultTypes")
    types = [one.get("id") for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return Manifest(
        batch_size=min(size, _LARGEST_BATCH) if usable and isinstance(size, int) else _USUAL_BATCH,
        extends=isinstance(extend, dict),
        proposals_url=_proposals(extend, url) if isinstance(extend, dict) else None,
        types=tuple(one for one in types if isinstance(one, str)),
    )


def scale_of(candidates: Iterable[Mapping[str, Any]], before: float) -> float:
    """By what scores are divided. Version 0.2 fixes no range and no manifest tells it: services count to 1 or to 100.
    Whoever once gave more than 1 counts to 100, so the scale only ever grows from ``before``."""
    return max((_HUNDRED for one in candidates if (score_of(one) or 0.0) > 1.0), default=before)


def score_of(candidate: Mapping[str, Any]) -> float | None:
    score = candidate.get("score")
    plain = isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
    return float(score) if plain and score is not None else None


def candidates_of(answer: Any) -> list[Mapping[str, Any]]:
    """Of one query, in the order of the service."""
    result = answer.get("result") if isinstance(answer, dict) else None
    return [one for one in result if isinstance(one, dict) and _id(one)] if isinstance(result, list) else []


def entity_of(candidate: Mapping[str, Any], language: str, scale: float) -> Entity:
    name, told = text_of(candidate.get("name")), text_of(candidate.get("description"))
    score = score_of(candidate)
    return Entity(
        id=str(candidate["id"]),
        labels={language: name} if name else {},
        descriptions={language: told} if told else {},
        types=tuple(_types(candidate.get("type"))),
        claims=dict(_features(candidate)),
        given_score=None if score is None else min(max(score / scale, 0.0), 1.0),
    )


def extended(rows: Any, id: str) -> dict[str, tuple[Value, ...]]:
    """The claims of one entity in an answer to a data extension."""
    row = rows.get(id) if isinstance(rows, dict) else None
    found: dict[str, tuple[Value, ...]] = {}
    for name, cells in row.items() if isinstance(row, dict) else ():
        values = [value for cell in cells for value in _values(cell)] if isinstance(cells, list) else []
        if values:
            found[name] = tuple(values[:_MOST_VALUES])
    return found


def _proposals(extend: Mapping[str, Any], url: str) -> str | None:
    place = extend.get("propose_properties")
    if not isinstance(place, dict):
        return None
    base, path = place.get("service_url"), place.get("service_path")
    if not isinstance(path, str):
        return None
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if isinstance(base, str) and base else urljoin(url, path)


def _id(candidate: Mapping[str, Any]) -> bool:
    id = candidate.get("id")
    return isinstance(id, str) and 0 < len(id) <= _LONGEST_ID and "\0" not in id


def _types(given: Any) -> Iterator[str]:
    """Objects in version 0.2, plain ids in older ones."""
    for one in given if isinstance(given, list) else ():
        id = one.get("id") if isinstance(one, dict) else one
        if isinstance(id, str) and id:
            yield id


def _features(candidate: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Value, ...]]]:
    if candidate.get("match") is True:
        yield MATCH, (NumberValue(amount=1.0),)
    given = candidate.get("features")
    for one in given if isinstance(given, list) else ():
        id, value = (one.get("id"), one.get("value")) if isinstance(one, dict) else (None, None)
        if isinstance(id, str) and isinstance(value, bool | int | float) and math.isfinite(value):
            yield f"{FEATURE}{id}", (NumberValue(amount=float(value)),)


def _values(cell: Any) -> Iterator[Value]:
    """One of the forms that the specification has for a value."""
    match cell:
        case {"id": str(id)} if id:
            yield ItemValue(id=id, label=text_of(cell.get("name")) or None)
        case {"date": str(date)}:
            yield from _dates(date)
        case {"float": float() | int() as number} | {"int": int() as number} if math.isfinite(number):
            yield NumberValue(amount=float(number))
        case {"str": str(text)} if text_of(text):
            yield TextValue(text=text_of(text) or "")


def _dates(text: str) -> Iterator[Value]:
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return
    year, month, day = (None if part is None else int(part) for part in found.groups())
    if year is None or (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return
    precision = YEAR if month is None else MONTH if day is None else DAY
    yield DateValue(year=year, month=month, day=day, precision=precision)
