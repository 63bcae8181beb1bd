"""What a controller answers with: a value, and why it is this one.

People who look at a fleet see both, so a size that seems odd explains itself.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Value]):
    """A size and the reason for it, as people see it."""

    value: Value
    reason: str


def shrunk(decision: Decision[int], *, factor: float, least: int, reason: str) -> Decision[int]:
    """Less of what another controller wanted, never below ``least`` and never above what was wanted."""
    if factor >= 1:
        return decision
    smaller = min(decision.value, max(least, int(decision.value * factor)))
    return Decision(value=smaller, reason=f"{decision.reason}; × {factor:.2f}: {reason}")
