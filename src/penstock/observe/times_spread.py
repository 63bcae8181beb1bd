"""How times spread, in a few counters: buckets whose bounds grow by the square root of two, from a millisecond on.

Counters of buckets add up over runners and minutes, which percentiles do not. A percentile read from them is off by
less than a fifth.
"""

import math
from collections.abc import Mapping

BUCKETS = 50
_FIRST_SECONDS = 0.001


def bucket_of(seconds: float) -> int:
    """0 holds everything up to a millisecond, the last everything from about six hours on."""
    if seconds <= _FIRST_SECONDS:
        return 0
    return min(math.ceil(2 * math.log2(seconds / _FIRST_SECONDS)), BUCKETS - 1)


def percentile_seconds(counts: Mapping[int, int], share: float) -> float | None:
    """Within its bucket the times are taken to be spread evenly. None: nothing was counted."""
    total = sum(counts.values())
    if total <= 0:
        return None
    wanted = share * total
    for bucket in sorted(counts):
        count = counts[bucket]
        if count > 0 and wanted <= count:
            low, high = (0.0 if bucket == 0 else _upper_seconds(bucket - 1)), _upper_seconds(bucket)
            return low + (high - low) * max(wanted, 0.0) / count
        wanted -= count
    return _upper_seconds(max(counts))


def _upper_seconds(bucket: int) -> float:
    return _FIRST_SECONDS * math.exp2(bucket / 2)
