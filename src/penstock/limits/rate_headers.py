"""How long an HTTP answer asks us to stay away. Pure: reads headers, decides nothing else."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from penstock.core.retry import date_of, http_headers, http_status, retry_after_seconds

LONGEST_WAIT_SECONDS = 24 * 3600.0
# 429 without a word about how long.
SHORTEST_WAIT_SECONDS = 1.0
_THROTTLED = 429
# Resets above these are a time of day in seconds or milliseconds; below, seconds from now.
_EPOCH_SECONDS = 1e8
_EPOCH_MILLISECONDS = 1e11
_FAMILIES = ("x-ratelimit", "x-rate-limit", "ratelimit")


def asked_wait_seconds(
    headers: Mapping[str, str], status: int | None = None, *, now: datetime | None = None
) -> float | None:
    """None: the answer does not ask for a wait.

    ``Retry-After`` counts on errors, and where the status is not known; elsewhere (202, 301) it is about that
    one resource. A time of day is compared with the answer's own ``Date``, so that neither their clock nor
    ours has to be right.
    """
    given = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    reference = date_of(given.get("date")) or now or datetime.now(UTC)
    waits = []
    if status is None or status >= 400:
        waits.append(retry_after_seconds(given, reference))
    waits.extend(_reset_seconds(given, reference, used_up_only=status != _THROTTLED))
    # A reset that has passed says no more than none at all.
    longest = max((wait for wait in waits if wait is not None and wait > 0), default=None)
    if longest is None:
        return SHORTEST_WAIT_SECONDS if status == _THROTTLED else None
    return min(longest, LONGEST_WAIT_SECONDS)


def wait_asked_by(error: BaseException) -> float | None:
    """The same for the exceptions of httpx, requests and aiohttp, which carry the answer."""
    status, headers = http_status(error), http_headers(error)
    return asked_wait_seconds(headers, status) if status is not None and hasattr(headers, "items") else None


def _reset_seconds(given: Mapping[str, str], reference: datetime, *, used_up_only: bool) -> Iterator[float | None]:
    """A reset says when the budget is new; it concerns us only once nothing is left of the old one."""
    for family in _FAMILIES:
        if used_up_only and _number(given.get(f"{family}-remaining")) != 0:
            continue
        yield _until(given.get(f"{family}-reset"), reference)


def _until(reset: str | None, reference: datetime) -> float | None:
    number = _number(reset)
    if number is None:
        when = date_of(reset)
        return None if when is None else (when - reference).total_seconds()
    if number >= _EPOCH_MILLISECONDS:
        return number / 1000 - reference.timestamp()
    return number - reference.timestamp() if number >= _EPOCH_SECONDS else number


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) else None
