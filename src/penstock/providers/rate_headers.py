"""What endpoints say about the rest of their budgets, in the words that the limiter understands. Pure.

They count requests and tokens apart and write durations such as ``6m0s`` or ``120ms``.
"""

import re
from collections.abc import Mapping

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def of_requests(headers: Mapping[str, str]) -> dict[str, str]:
    """Everything but what is about tokens only: ``Retry-After`` holds up every call."""
    given = {name.lower(): value for name, value in headers.items()}
    plain = {name: value for name, value in given.items() if not name.endswith(("-requests", "-tokens"))}
    return plain | _used_up(given, "requests")


def of_tokens(headers: Mapping[str, str]) -> dict[str, str]:
    """Empty while tokens are left."""
    return _used_up({name.lower(): value for name, value in headers.items()}, "tokens")


def _used_up(given: Mapping[str, str], what: str) -> dict[str, str]:
    reset = duration_seconds(given.get(f"x-ratelimit-reset-{what}", ""))
    if given.get(f"x-ratelimit-remaining-{what}", "").strip() != "0" or reset is None:
        return {}
    return {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{reset:.3f}"}


def duration_seconds(text: str) -> float | None:
    """``1h2m3.5s``, or a plain number of seconds; None for anything else."""
    text = text.strip().lower()
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None
