"""Dates as people write them, compared at the coarser of the two precisions."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from penstock.extensions.linking.entity import DAY, MONTH, YEAR, DateValue
from penstock.extensions.linking.scoring.folding import plain
from penstock.extensions.linking.scoring.weights import Finding, best

CENTURY, DECADE = 7, 8
# How much an agreement says, by precision: many were born in 1987, few on that day.
_STRENGTH = {CENTURY: 0.3, DECADE: 0.4, YEAR: 0.75, MONTH: 0.9, DAY: 1.0}
_CIRCA_YEARS = 5
# A longer text is no date.
_LONGEST = 60
# Day and month in the other order, if only that reading agrees.
_SWAPPED = 0.9

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio janeiro",
            "feb february februar fevrier febrero febbraio fevereiro",
            "mar march marz mars marzo marco maerz", "apr april avril abril aprile", "may mai mayo maggio maio",
            "jun june juni juin junio giugno junho", "jul july juli juillet julio luglio julho",
            "aug august aout agosto", "sep sept september septembre septiembre settembre setembro",
            "oct okt october oktober octobre octubre ottobre outubro",
            "nov november novembre noviembre novembro",
            "dec dez dic december dezember decembre diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip

_CIRCA = re.compile(r"^(?:circa|ca|c|um|about|around|approx|vers|~|≈)\.?\s*(?=\d)|\?$")
_BEFORE = re.compile(r"\s*(?:b\.?c\.?(?:e\.?)?|v\.?\s*chr\.?|av\.?\s*j\.?-?c\.?)$")
_ISO = re.compile(r"^([+-]?)(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:t[\d:.]+z?)?$")
_DAY_FIRST = re.compile(r"^(\d{1,2})[./\- ]+(\d{1,2})[./\- ]+(\d{4})$")
_MONTH_YEAR = re.compile(r"^(\d{1,2})[./](\d{4})$")
_SHORT_YEAR = re.compile(r"^(-?)(\d{1,4})$")
_DECADE = re.compile(r"^(\d{3})0\s*'?(?:s|er)$")
_CENTURY = re.compile(r"^(\d{1,2})\.?(?:st|nd|rd|th)?\s*(?:century|jahrhundert|jh|cent)\.?$")
_NAMED = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read a text as a date. ``swapped``: the less usual order of day and month."""

    year: int
    month: int | None = None
    day: int | None = None
    precision: int = YEAR
    circa: bool = False
    swapped: bool = False


def compare(text: str, there: DateValue) -> Finding:
    readings = read(text)
    if not readings:
        return Finding(kind="date", value=None, said=f"{text!r} is no date that can be read")
    return best([_compare(reading, there, text) for reading in readings])


@lru_cache(maxsize=5_000)
def read(text: str) -> tuple[Reading, ...]:
    """All readings; 02/03/1987 has two. Nothing where it is no date, or its year has two digits."""
    if len(text) > _LONGEST:
        return ()
    cleaned = plain(text).strip().strip(",.;()[]").strip()
    bare = _CIRCA.sub("", cleaned).strip()
    circa = bare != cleaned
    year_sign = -1 if _BEFORE.search(bare) else 1
    found = _read(_BEFORE.sub("", bare) if year_sign < 0 else bare)
    return tuple(
        replace(one, year=abs(one.year) * year_sign if year_sign < 0 else one.year, circa=circa)
        for one in found
        if _exists(one)
    )


def _read(text: str) -> list[Reading]:
    if match := _ISO.match(text):
        sign, year, month, day = match.groups()
        return [_reading(-int(year) if sign == "-" else int(year), month, day)]
    if match := _DAY_FIRST.match(text):
        first, second, year = match.groups()
        usual = _reading(int(year), second, first)
        return [usual] if first == second else [usual, replace(_reading(int(year), first, second), swapped=True)]
    if match := _MONTH_YEAR.match(text):
        return [_reading(int(match[2]), match[1], None)]
    if match := _SHORT_YEAR.match(text):
        return [Reading(year=-int(match[2]) if match[1] else int(match[2]))]
    if match := _DECADE.match(text):
        return [Reading(year=int(match[1]) * 10, precision=DECADE)]
    if match := _CENTURY.match(text):
        return [Reading(year=int(match[1]) * 100 - 50, precision=CENTURY)]
    return _named(text)


def _reading(year: int, month: str | None, day: str | None) -> Reading:
    """A month or day of zero is how some exports write "not known"."""
    months, days = int(month or 0) or None, int(day or 0) or None
    if months is None:
        return Reading(year=year)
    return Reading(year=year, month=months, day=days, precision=MONTH if days is None else DAY)


def _named(text: str) -> list[Reading]:
    """With the month as a word, in any order: 2 March 1987, March 2nd, 1987."""
    words = _NAMED.findall(text)
    month = next((_MONTHS[word] for word in words if word in _MONTHS), None)
    years = [int(word) for word in words if word.isdigit() and len(word) in (3, 4)]
    days = [int(word) for word in words if word.isdigit() and len(word) <= 2]
    if month is None or len(years) != 1 or len(days) > 1:
        return []
    return [Reading(year=years[0], month=month, day=days[0] if days else None, precision=DAY if days else MONTH)]


def _exists(one: Reading) -> bool:
    return (one.month is None or 1 <= one.month <= 12) and (one.day is None or 1 <= one.day <= 31)


def _compare(mine: Reading, there: DateValue, text: str) -> Finding:
    precision = min(mine.precision, there.precision)
    value, word = _value(mine, there, precision)
    if mine.swapped:
        value *= _SWAPPED
    # What contradicts counts in full, whatever the precision: two years differ however little a year says.
    strength = _STRENGTH.get(precision, 0.2) * (0.6 if mine.circa else 1.0) if value >= 0.5 else 1.0
    said = f"{text} here, {_shown(there)} there: {word}"
    return Finding(kind="date", value=value, strength=strength, said=said)


def _value(mine: Reading, there: DateValue, precision: int) -> tuple[float, str]:
    apart = abs(mine.year - there.year)
    if precision < YEAR:
        span = {DECADE: 10, CENTURY: 100}.get(precision, 1000)
        same = mine.year // span == there.year // span
        return (1.0, f"agrees within {span} years") if same else (0.0, "another time")
    if mine.circa and apart:
        return (0.8, "near enough for about") if apart <= _CIRCA_YEARS else (0.0, f"{apart} years apart")
    if apart == 1:
        return 0.5, "a year apart"
    if apart:
        return 0.0, f"{apart} years apart"
    if precision == YEAR:
        return 1.0, "agrees to the year"
    if mine.month == there.month:
        if precision == MONTH:
            return 1.0, "agrees to the month"
        return (1.0, "agrees to the day") if mine.day == there.day else (0.5, "another day of that month")
    if mine.day is not None and mine.day == there.day:
        return 0.5, "another month of that year"
    return 0.25, "another day of that year"


def _shown(there: DateValue) -> str:
    if there.precision <= DECADE:
        return f"about {there.year}"
    parts = [f"{there.year}", f"{there.month:02}" if there.month else "", f"{there.day:02}" if there.day else ""]
    return "-".join(part for part in parts[: there.precision - YEAR + 1] if part)
