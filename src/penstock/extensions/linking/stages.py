"""The stages of record linking: their names, their retries, and when a failure is the last one of its task."""

import platform

from penstock import Context, RetryPolicy
from penstock.core.payload import clean_text
from penstock.core.retry import ErrorClass, classify
from penstock.errors import DatabaseError, StaleLease
from penstock.extensions.linking.sources.source import SourceMisconfigured

SEARCH = "linking.search"
FETCH = "linking.fetch"
SCORE = "linking.score"
WATCH = "linking.watch"
_REASON_CHARACTERS = 1000
# Short at first: most faults of a source are over at once. Then every half minute, so that a source that is back is
# noticed soon, and often enough that an outage of five minutes is survived.
RETRY = RetryPolicy(base_seconds=0.5, factor=3.0, cap_seconds=30.0, jitter=0.5)
MAX_ATTEMPTS = 14


def reason_if_last(ctx: Context, error: Exception) -> str | None:
    """None: the engine will try again, or the fault is not the task's."""
    if isinstance(error, DatabaseError | StaleLease):
        return None
    kind = classify(error, RETRY).kind
    if kind is ErrorClass.THROTTLED or (kind is not ErrorClass.PERMANENT and ctx.attempt < ctx.max_attempts):
        return None
    told = str(error) or type(error).__name__
    if isinstance(error, SourceMisconfigured):
        # Whoever reads it started the run elsewhere, where the settings may well be right.
        told = f"The worker on {platform.node()} cannot ask: {told} Then start it anew, and match the failed records."
    return clean_text(told, _REASON_CHARACTERS)
