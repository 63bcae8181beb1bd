"""Amounts: with a tolerance, since counts age; units only where both sides name one that is known."""

import re
from functools import lru_cache

from penstock.extensions.linking.entity import NumberValue
from penstock.extensions.linking.scoring.weights import Finding

# Relative difference, and how well two amounts agree below it.
_STEPS = ((0.005, 1.0), (0.05, 0.8), (0.2, 0.4))
# A longer text is no number.
_LONGEST = 60
_NUMBER = re.compile(r"[-+]?\d[\d.,'’\u00a0\u202f ]*")
_GROUPED = re.compile(r"^\d{1,3}(?:[., '’\u00a0\u202f]\d{3})+$")
_SCALES = dict.fromkeys(("thousand", "k"), 1e3)
_SCALES |= dict.fromkeys(("million", "millions", "mio"), 1e6) | dict.fromkeys(("billion", "bn", "mrd"), 1e9)
# Symbol, word or id of Wikidata → what it measures, and how many of the first unit of that kind it is.
_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("m", "metre", "meter", "metres", "meters", "q11573"), ("length", 1.0)),
    **dict.fromkeys(("km", "kilometre", "kilometer", "kilometres", "kilometers", "q828224"), ("length", 1000.0)),
    **dict.fromkeys(("ft", "foot", "feet", "q3710"), ("length", 0.3048)),
    **dict.fromkeys(("mi", "mile", "miles", "q253276"), ("length", 1609.344)),
    **dict.fromkeys(("kg", "kilogram", "kilograms", "q11570"), ("mass", 1.0)),
    **dict.fromkeys(("g", "gram", "grams", "q41803"), ("mass", 0.001)),
    **dict.fromkeys(("lb", "lbs", "pound", "pounds", "q100995"), ("mass", 0.45359237)),
    **dict.fromkeys(("km2", "km²", "sqkm", "q712226"), ("area", 1e6)),
    **dict.fromkeys(("ha", "hectare", "hectares", "q35852"), ("area", 1e4)),
    **dict.fromkeys(("m2", "m²", "sqm", "q25343"), ("area", 1.0)),
}  # fmt: skip


def compare(text: str, there: NumberValue) -> Finding:
    read_here = read(text)
    if read_here is None:
        return Finding(kind="number", value=None, said=f"{text!r} is no number that can be read")
    amount, unit = read_here
    here, theirs = _UNITS.get(unit or ""), _UNITS.get((there.unit or "").rsplit("/", 1)[-1].lower())
    other = there.amount
    if here is not None and theirs is not None:
        if here[0] != theirs[0]:
            return Finding(kind="number", value=None, said=f"{text} here is no {theirs[0]}")
        amount, other = amount * here[1], other * theirs[1]
    apart = abs(amount - other) / max(abs(amount), abs(other), 1e-12)
    value = next((value for limit, value in _STEPS if apart <= limit), 0.0)
    word = "agrees" if value == 1.0 else f"{apart:.0%} apart"
    return Finding(kind="number", value=value, said=f"{text} here, {there.amount:g} there: {word}")


@lru_cache(maxsize=5_000)
def read(text: str) -> tuple[float, str | None] | None:
    """The amount and the unit as written, lower case."""
    match = _NUMBER.search(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    amount = _amount(match.group().strip(" .,'’\u00a0\u202f"))
    words = text[match.end() :].strip().lower().strip(".").split()
    if amount is None:
        return None
    if words and words[0] in _SCALES:
        amount, words = amount * _SCALES[words[0]], words[1:]
    return amount, words[0] if words else None


def _amount(written: str) -> float | None:
    """1,234.5 and 1.234,5 alike; a single separator before three digits groups them."""
    digits = written.lstrip("+-")
    if _GROUPED.match(digits):
        digits = re.sub(r"\D", "", digits)
    elif "," in digits and digits.rfind(",") > digits.rfind("."):
        digits = re.sub(r"[^\d,]", "", digits).replace(",", ".")
    else:
        digits = re.sub(r"[^\d.]", "", digits)
    try:
        return float(digits) * (-1 if written.startswith("-") else 1)
    except ValueError:
        return None
