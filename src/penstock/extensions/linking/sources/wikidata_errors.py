"""What Wikidata's API means by its errors, most of which come with status 200. Pure."""

import math
from collections.abc import Mapping
from typing import Any

from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.limits.rate_headers import asked_wait_seconds

_THROTTLED = frozenset({"maxlag", "ratelimited", "readonly"})
_SHORTEST_WAIT_SECONDS = 1.0
_LONGEST_LAG_SECONDS = 60.0
# One of the ids is to blame.
_IDS = ("no-such-entity", "invalid-entity-id", "unresolved-redirect", "param-illegal", "param-invalid")
# The same question gets the same answer.
_PERMANENT = (
    "bad",
    "blocked",
    "invalid",
    "missing",
    "mustbe",
    "no-such",
    "no_such",
    "param",
    "permission",
    "toomany",
    "unknown",
    "unrecognized",
)


class IdRefused(PermanentError):
    """``id``: the one that is to blame, where they say so."""

    def __init__(self, message: str, id: str | None) -> None:
        self.id = id
        super().__init__(message)


def error_in(data: Mapping[str, Any], headers: Mapping[str, str], *, host: str, key: str) -> Exception | None:
    """What to raise for an answer; None for a good one."""
    error = data.get("error")
    if not isinstance(error, dict):
        return None
    code, info = str(error.get("code", "")), _shown(error.get("info"))
    said = f"{host} answered with the error {_shown(code)}{f': {info}' if info else ''}"
    if code in _THROTTLED:
        wait = asked_wait_seconds(headers) or _lag_seconds(error)
        return ThrottledError(f"{said}.", retry_after=max(wait, _SHORTEST_WAIT_SECONDS), key=key)
    if code.startswith(_IDS):
        given = error.get("id")
        return IdRefused(f"{said}.", given if isinstance(given, str) else None)
    if code.startswith(_PERMANENT):
        return PermanentError(f"{said}. Check PENSTOCK_LINKING_ENDPOINT and the languages of the project.")
    return TransientError(f"{said}.")


def _lag_seconds(error: Mapping[str, Any]) -> float:
    """As long as their copies are behind; no longer than a minute, for they catch up quicker than they say."""
    lag = error.get("lag")
    if isinstance(lag, bool) or not isinstance(lag, int | float) or not math.isfinite(lag):
        return _SHORTEST_WAIT_SECONDS
    return min(float(lag), _LONGEST_LAG_SECONDS)


def _shown(text: Any) -> str:
    given = text if isinstance(text, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in given).split())[:200].rstrip(".")
