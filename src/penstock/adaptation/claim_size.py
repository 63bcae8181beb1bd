"""How much to claim ahead: enough to keep the processors busy for a slice of time, not more. And when to look again.

Pure: the same signals give the same decision, and the decision says why.
"""

from penstock.adaptation.decision import Decision

_WEIGHT = 0.05


def claim_size(
    *, ewma_ms: float | None, processors: int, slice_ms: float, safety: float, least: int, most: int
) -> Decision[int]:
    """``clamp(slice / ewma × safety × processors, least, most)``; unknown speed starts small."""
    if ewma_ms is None:
        return Decision(value=max(least, min(processors, most)), reason="no task measured yet")
    fits = slice_ms / max(ewma_ms, 0.001) * safety * processors
    if fits <= least:
        return Decision(value=least, reason=f"a task takes {ewma_ms:.1f} ms: the least")
    if fits >= most:
        return Decision(value=most, reason=f"a task takes {ewma_ms:.3f} ms: the most")
    return Decision(value=int(fits), reason=f"a task takes {ewma_ms:.1f} ms; {fits:.0f} fill the slice")


def ewma(before: float | None, sample: float) -> float:
    """Exponentially weighted average; the first sample counts whole."""
    return sample if before is None else before + _WEIGHT * (sample - before)


def pause_seconds(*, empty_claims: int, least: float, most: float, chance: float) -> float:
    """How long an idle worker waits before it looks again. Doubles with every empty claim up to ``most``; jitter keeps
    a fleet from polling in step."""
    grown: float = min(least * 2 ** min(max(empty_claims - 1, 0), 30), most)
    return grown * (0.75 + 0.5 * chance)
