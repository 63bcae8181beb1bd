"""A task whose stored input does not fit the handler here is left for a worker of another release.

``enqueue`` checks every input, so one that does not fit was stored by a newer or an older release, or by SQL. Python
refuses such a call before the first line of the handler: nothing has happened yet, and the task can wait.
"""

from penstock.core.arguments import Arguments
from penstock.core.payload import clean_text, decode, encode
from penstock.core.retry import Relayed
from penstock.errors import InvalidArguments
from penstock.model import Claimed, Release

CAUSE = "version skew"
# It is left alone for half as long as it has waited already, within these.
_SHORTEST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 5.0, 900.0
_GROWTH = 0.5
_MAX_PROBLEM_BYTES = 16 * 1024


def misfit(claimed: Claimed, arguments: Arguments, error: Exception) -> str | None:
    """Why the handler could not be called, where that is what the error of a first stage means."""
    if not isinstance(error, TypeError | InvalidArguments | Relayed):
        return None
    try:
        stored = decode(claimed.input)
    except ValueError:
        return None
    return arguments.misfit(stored) if isinstance(stored, dict) else None


def left(claimed: Claimed, problem: str, left_seconds: float) -> Release:
    """``left_seconds``: since it was left for the first time."""
    described = {"type": "VersionSkew", "message": clean_text(problem, 2000)}
    return Release(
        *claimed.leased,
        cause=CAUSE,
        delay_seconds=waited(left_seconds),
        error=encode(described, what="reason", limit_bytes=_MAX_PROBLEM_BYTES),
    )


def waited(age_seconds: float) -> float:
    """How long a task that this release cannot run is left alone next."""
    return min(max(age_seconds * _GROWTH, _SHORTEST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS)
