"""What the comparison of one feature says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``value``: 1 agrees, 0 contradicts, None says nothing. ``strength``: the part of the feature's weight that it
    deserves; a year says less than a day. ``kind``: which weight that is. ``decisive``: an identifier settles it."""

    kind: str
    value: float | None
    said: str
    strength: float = 1.0
    decisive: bool = False


def best(findings: list[Finding]) -> Finding:
    """Of several values on either side: one that agrees is enough; one that says nothing is better than none."""
    return max(findings, key=lambda one: (one.value is not None, one.value or 0.0, one.strength))
