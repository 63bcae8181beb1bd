"""Dates as HTTP answers carry them. The other side may send any text; no text of theirs may raise here."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# A year or a zone with twenty digits is no ValueError to the library that reads it.
_NO_DATE = (TypeError, ValueError, OverflowError, IndexError)


def date_of(text: str | None) -> datetime | None:
    """Aware. None: there is none, or it is no date that a calendar has."""
    if not text:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            when = read(text)
        except _NO_DATE:
            continue
        return when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return None
