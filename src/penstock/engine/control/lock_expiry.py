"""How long a lock may be held before others may take it for abandoned: twice what an item usually takes.

Pure. A lock that is derived from the pace of the work follows it: quick items are taken over quickly from somebody who
vanished, slow ones are not taken from somebody who is only slow.
"""

from penstock.engine.control.decision import Decision

_TIMES = 2.0


def lock_expiry(*, ewma_ms: float | None, floor_ms: float, cap_ms: float) -> Decision[float]:
    """``clamp(2 × ewma, floor, cap)``; without a measurement the cap, because taking over too early does work twice."""
    if ewma_ms is None:
        return Decision(value=float(cap_ms), reason="no item measured yet: the longest")
    wanted = _TIMES * ewma_ms
    if wanted <= floor_ms:
        return Decision(value=float(floor_ms), reason=f"an item takes {ewma_ms:.1f} ms: the shortest")
    if wanted >= cap_ms:
        return Decision(value=float(cap_ms), reason=f"an item takes {ewma_ms:.0f} ms: the longest")
    return Decision(value=wanted, reason=f"twice the {ewma_ms:.0f} ms that an item takes")
