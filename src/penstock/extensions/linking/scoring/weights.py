"""What the comparison of one feature says, and how much it counts.

Weights are changed per project; everything is then ranked again from the cache.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.errors import UsageError

MOST = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Only their ratios count. ``properties``: a weight of its own for a property, whatever its datatype; 0: left out.

    ``silence``: the part of a weight that counts against a candidate of which the source does not know what the record
    knows. Small, since sources have gaps; not zero, or a namesake of whom nothing is known would equal one whose date
    of birth agrees."""

    name: float = 5.0
    type: float = 1.5
    identifier: float = 6.0
    date: float = 3.0
    place: float = 3.0
    item: float = 2.0
    url: float = 3.0
    number: float = 1.5
    text: float = 1.5
    silence: float = 0.15
    properties: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: Mapping[str, Any] | None) -> "Weights":
        """As a project stores them; what is left out has its default."""
        given = dict(options or {})
        own = given.pop("properties", None) or {}
        known = [one.name for one in fields(cls) if one.name != "properties"]
        if unknown := sorted(set(given) - set(known)):
            raise UsageError(f"There is no weight called {unknown[0]!r}. Use {', '.join(known)}, or properties.")
        if not isinstance(own, Mapping):
            raise UsageError(f'The weights of properties are {own!r}. Give an object such as {{"P569": 3}}.')
        made = cls(
            **{name: _checked(name, value, 1.0 if name == "silence" else MOST) for name, value in given.items()},
            properties={str(name): _checked(str(name), value, MOST) for name, value in own.items()},
        )
        if made.name <= 0:
            raise UsageError("The weight of the name is 0. Give it one above 0: every candidate was found by its name.")
        return made

    def of(self, kind: str, property_id: str | None = None) -> float:
        if property_id is not None and property_id in self.properties:
            return self.properties[property_id]
        weight: float = getattr(self, kind)
        return weight


def _checked(name: str, value: Any, most: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 <= value <= most
    ):
        raise UsageError(f"The weight {name!r} is {value!r}. Give a number from 0 to {most:g}.")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``value``: 1 agrees, 0 contradicts, None says nothing. ``strength``: the part of the feature's weight that it
    deserves; a year says less than a day. ``kind``: which weight that is. ``decisive``: an identifier settles it."""

    kind: str
    value: float | None
    said: str
    strength: float = 1.0
    decisive: bool = False


def best(findings: list[Finding]) -> Finding:
    """Of several values on either side: one that agrees is enough; one that says nothing is better than none."""
    return max(findings, key=lambda one: (one.value is not None, one.value or 0.0, one.strength))
