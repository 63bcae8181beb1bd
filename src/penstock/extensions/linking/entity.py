"""What a source knows about one thing: names in several languages, and statements by property.

The cache keeps entities as JSON with nothing empty in it, values as short lists:

{"id": "Q1", "labels": {"en": "…"}, "types": ["Q5"], "links": 3,
 "claims": {"P569": [["d", 1815, 12, 10, 11]], "P27": [["i", "Q145"]], "P625": [["p", 51.5, -0.1]]}}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

# Wikidata's precisions of a date; those below a year are of no use for matching people or places.
YEAR, MONTH, DAY = 9, 10, 11


@dataclass(frozen=True, slots=True, kw_only=True)
class TextValue:
    """Also identifiers: a text is compared as it is, without case and spaces."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemValue:
    """Another thing; ``label`` where it is known."""

    id: str
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DateValue:
    """``precision``: YEAR, MONTH, DAY, or lower (decade 8, century 7). Negative years are before our era."""

    year: int
    month: int | None
    day: int | None
    precision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceValue:
    """Degrees."""

    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberValue:
    amount: float
    unit: str | None = None


Value = TextValue | ItemValue | DateValue | PlaceValue | NumberValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """``id``: as the source calls it now, after redirects. ``types``: what it is an instance of, with what those are
    kinds of where the source says so. ``links``: pages about it, a measure of how known it is. ``given_score``: what a
    reconciliation service said itself, 0 to 1."""

    id: str
    labels: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    claims: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    links: int = 0
    given_score: float | None = None

    def label(self, languages: tuple[str, ...]) -> str:
        """The first that is there; any other; the id."""
        for language in (*languages, "mul", "en"):
            if language in self.labels:
                return self.labels[language]
        return next(iter(self.labels.values()), self.id)


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
