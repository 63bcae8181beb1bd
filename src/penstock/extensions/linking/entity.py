"""What a source knows about one thing: names in several languages, and statements by property."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
