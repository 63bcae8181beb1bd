"""Kinds of values that many routes take. What the database cannot keep is refused here, with the field's name."""

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, Strict, StringConstraints

LONGEST_NAME = 200
LONGEST_TEXT = 500

# Everything but NUL, which PostgreSQL has no place for.
STORABLE = r"^[^\x00]*$"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)")
# Inside PostgreSQL's calendar in every time zone.
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)

Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME, pattern=STORABLE)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT, pattern=STORABLE)]


def _counted(value: object) -> object:
    """JSON has one kind of number: 3.0 is 3."""
    if isinstance(value, bool | str):
        raise ValueError("it has to be a whole number")
    return value


# JSON says which type a value has: "true" is no truth value and "3" no number.
Flag = Annotated[bool, Strict()]
# Of whole numbers. Stands behind the bounds: in front of them they would be missing in the OpenAPI document.
COUNTED = BeforeValidator(_counted)
Number = Annotated[float, Strict()]


def _written(value: object) -> object:
    """Only ISO 8601 with a zone: a plain number would be taken for seconds or milliseconds, nobody knows which."""
    if isinstance(value, str) and not _TIME.fullmatch(value):
        raise ValueError("write it as 2026-11-15T09:30:00Z, with a time zone")
    if isinstance(value, int | float):
        raise ValueError("write it as text: 2026-11-15T09:30:00Z")
    return value


def _bounded(value: datetime) -> datetime:
    return min(max(value, _FIRST), _LAST)


Moment = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_bounded)]

GroupId = Annotated[str, Field(pattern="^[0-9a-f]{16}$", description="As `GET /api/errors` answered it.")]
PageSize = Annotated[int, Query(alias="pageSize", ge=1, le=500, description="How many at most.")]
After = Annotated[
    str | None,
    Query(
        max_length=2000, description="`nextCursor` of the page before. It belongs to one user and one set of filters."
    ),
]
Before = Annotated[
    str | None,
    Query(max_length=2000, description="`startCursor` of a page: the page that ends there. Not together with `after`."),
]
Whose = Literal["me", "all"]
UserId = Annotated[Whose, Query(alias="userId", description="`all`: of all users, for admins; it is audited.")]
