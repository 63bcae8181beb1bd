"""What the called side makes of the calls it saw. Pure: all times are seconds of one monotonic clock."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

# A call that had its permit when the answer 429 was sent is on its way; nobody can call it back.
IN_FLIGHT_SECONDS = 0.05


def windows_over_limit(calls: Sequence[float], *, rate: float, burst: int, window_seconds: float = 1.0) -> int:
    """Of the windows that begin with a call, how many hold more than burst + rate × window."""
    ordered = sorted(calls)
    most = burst + rate * window_seconds
    return sum(
        bisect_left(ordered, begin + window_seconds) - number > most + 1e-9 for number, begin in enumerate(ordered)
    )


def use(calls: Sequence[float], *, rate: float, seconds: float) -> float:
    """Calls in so many seconds after the first one, to what the rate allows in that time."""
    ordered = sorted(calls)
    return bisect_left(ordered, ordered[0] + seconds) / (rate * seconds) if ordered else 0.0


def after_refusal(calls: Sequence[float], refused_at: float, retry_after_seconds: float) -> dict[str, Any]:
    """Who called though it was told not to, and how soon they went on."""
    opens = refused_at + retry_after_seconds
    behind = [call for call in calls if call >= opens]
    return {
        "early_calls": sum(refused_at + IN_FLIGHT_SECONDS < call < opens for call in calls),
        "in_flight_calls": sum(refused_at < call <= refused_at + IN_FLIGHT_SECONDS for call in calls),
        "resumed_after_ms": round((min(behind) - opens) * 1000, 1) if behind else None,
    }
