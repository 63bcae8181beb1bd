"""Places in a list, given to clients and taken back: signed, and bound to who asked what.

A cursor says where a page ended. Because it is signed, a client cannot make one that reads other rows or breaks a
query; because it is bound to user and query, it is worth nothing to anybody else or with other filters.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson

from penstock.console.http.problems import Problem

Row = TypeVar("Row")
_SIGNATURE_BYTES = 16
_MOST_CHARACTERS = 2000


class Cursors:
    """One per process, with the key that all processes share."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def give(self, user: str, query: Sequence[object], place: Sequence[object]) -> str:
        """``place``: numbers, texts and times, as ``take`` gives them back."""
        payload = orjson.dumps([_plain(value) for value in place])
        return base64.urlsafe_b64encode(self._signature(user, query, payload) + payload).rstrip(b"=").decode()

    def take(self, user: str, query: Sequence[object], cursor: str) -> list[object]:
        try:
            if len(cursor) > _MOST_CHARACTERS:
                raise ValueError
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            signature, payload = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        except (binascii.Error, ValueError):
            raise _refused() from None
        if not hmac.compare_digest(signature, self._signature(user, query, payload)):
            raise _refused()
        return [_value(value) for value in orjson.loads(payload)]

    def _signature(self, user: str, query: Sequence[object], payload: bytes) -> bytes:
        bound = orjson.dumps([user, [_plain(value) for value in query]])
        return hmac.digest(self._key, len(bound).to_bytes(4, "big") + bound + payload, hashlib.sha256)[
            :_SIGNATURE_BYTES
        ]


class Listing:
    """A list that goes on behind one value of its last row, for one user and one set of filters."""

    def __init__(self, cursors: Cursors, user: str, *query: object) -> None:
        self._cursors = cursors
        self._user = user
        self._query = query

    def behind(self, after: str | None, first: Any = None) -> Any:
        """The value behind which the page begins; ``first``: that of the first page."""
        return first if after is None else self._cursors.take(self._user, self._query, after)[0]

    def cursor(self, value: object) -> str | None:
        return None if value is None else self._cursors.give(self._user, self._query, [value])

    def page(self, found: Sequence[Row], size: int, value: Callable[[Row], object]) -> tuple[Sequence[Row], str | None]:
        """Of one row more than it holds, so that it is known whether there are more."""
        shown = found[:size]
        return shown, self.cursor(value(shown[-1])) if len(found) > size else None


def _plain(value: object) -> object:
    return {"at": value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else value


def _value(value: object) -> object:
    return datetime.fromisoformat(value["at"]) if isinstance(value, dict) else value


def _refused() -> Problem:
    return Problem(
        400,
        "The cursor in `after` is not one that this query gave you. Leave it out to start at the first page; "
        "a cursor belongs to one user and one set of filters.",
    )
