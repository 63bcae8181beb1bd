"""The text of a cell: what a person sees in it, as far as the file tells."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

_EXACT = 2.0**53


def texts_of(cells: list[int | float | str | bool | time | date | datetime | timedelta]) -> list[str]:
    return [cell if type(cell) is str else text_of(cell) for cell in cells]


def text_of(value: int | float | str | bool | time | date | datetime | timedelta) -> str:
    """Dates and times in ISO form; numbers in full, never with an exponent, whole ones without a point."""
    match value:
        case str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _number(value)
        case timedelta():
            return _duration(value)
        case datetime():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")


def _number(value: float) -> str:
    if value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    text = repr(value)
    return (format(Decimal(text), "f") if "e" in text else text).removesuffix(".0")


def _duration(value: timedelta) -> str:
    """As a spreadsheet shows hours beyond a day: 30:05:00."""
    seconds = round(abs(value).total_seconds())
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
