"""Entities as the cache keeps them: JSON with nothing empty in it, values as short lists. Pure.

{"id": "Q1", "labels": {"en": "…"}, "types": ["Q5"], "links": 3,
 "claims": {"P569": [["d", 1815, 12, 10, 11]], "P27": [["i", "Q145"]], "P625": [["p", 51.5, -0.1]]}}
"""

from collections.abc import Mapping
from typing import Any, assert_never

from penstock.extensions.linking.entity import DateValue, Entity, ItemValue, NumberValue, PlaceValue, TextValue, Value


def to_json(entity: Entity) -> dict[str, Any]:
    """``from_json`` gives an equal entity back."""
    kept: dict[str, Any] = {
        "id": entity.id,
        "labels": dict(entity.labels),
        "aliases": {language: list(names) for language, names in entity.aliases.items()},
        "descriptions": dict(entity.descriptions),
        "types": list(entity.types),
        "claims": {name: [_to_list(value) for value in values] for name, values in entity.claims.items()},
        "links": entity.links,
        "given_score": entity.given_score,
    }
    # A score of 0 was given, so it stays.
    return {name: value for name, value in kept.items() if value or (name == "given_score" and value is not None)}


def from_json(data: Mapping[str, Any]) -> Entity:
    """Only for what ``to_json`` made: anything else raises KeyError, TypeError or ValueError."""
    claims = data.get("claims", {})
    return Entity(
        id=data["id"],
        labels=data.get("labels", {}),
        aliases={language: tuple(names) for language, names in data.get("aliases", {}).items()},
        descriptions=data.get("descriptions", {}),
        types=tuple(data.get("types", ())),
        claims={name: tuple(_from_list(value) for value in values) for name, values in claims.items()},
        links=data.get("links", 0),
        given_score=data.get("given_score"),
    )


def _to_list(value: Value) -> list[Any]:
    match value:
        case TextValue():
            return ["t", value.text]
        case ItemValue():
            return ["i", value.id] if value.label is None else ["i", value.id, value.label]
        case DateValue():
            return ["d", value.year, value.month, value.day, value.precision]
        case PlaceValue():
            return ["p", value.latitude, value.longitude]
        case NumberValue():
            return ["n", value.amount] if value.unit is None else ["n", value.amount, value.unit]
        case _:
            assert_never(value)


def _from_list(value: list[Any]) -> Value:
    match value:
        case ["t", text]:
            return TextValue(text=text)
        case ["i", id, *label]:
            return ItemValue(id=id, label=label[0] if label else None)
        case ["d", year, month, day, precision]:
            return DateValue(year=year, month=month, day=day, precision=precision)
        case ["p", latitude, longitude]:
            return PlaceValue(latitude=latitude, longitude=longitude)
        case ["n", amount, *unit]:
            return NumberValue(amount=amount, unit=unit[0] if unit else None)
        case _:
            raise ValueError(f"{value!r} is no value of an entity. Clear the cache of the source and fetch it again.")
