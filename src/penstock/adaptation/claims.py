"""How much to claim ahead: enough to keep the processors busy for a slice of time, not more. And when to look again.

Pure: the same signals give the same decision. People who look at a fleet see the value and why it is this one, so a
size that seems odd explains itself.
"""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

Value = TypeVar("Value", int, float)
# Of the newest task in the average.
_WEIGHT = 0.05
# Of a spike of errors: how many endings are weighed, at which share of errors it begins and ends.
_WINDOW = 100
_BEGINS = 0.5
_ENDS = 0.25
_LEAST_FACTOR = 0.25
_MOST_SPACING = 4.0
# Of pressure. A busy machine still has to be kept busy; one that runs out of memory has to take almost nothing.
_LEAST_FOR_CPU = 0.5
_LEAST_FOR_MEMORY = 0.1
_RELEASE = 0.9
_STEP_UP = 0.1
_NONE = "no pressure"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpike:
    """While most runs of a stage fail: ``factor`` on the claim and ``spacing`` on the delay of a retry; both 1 without.

    Endings are judged in batches; each batch counts as if the last ``_WINDOW`` endings were weighed, newest most. A
    spike begins above one share of errors and ends below a lower one.
    """

    share: float = 0.0
    spiking: bool = False
    factor: float = 1.0
    spacing: float = 1.0
    reason: str = "few errors"

    def after(self, endings: int, errors: int) -> "ErrorSpike":
        """``errors`` of these ``endings`` failed. No endings say nothing."""
        if endings <= 0:
            return self
        kept = (1 - 1 / _WINDOW) ** endings
        share = self.share * kept + (1 - kept) * min(1.0, errors / endings)
        spiking = share > (_ENDS if self.spiking else _BEGINS)
        if not spiking:
            return replace(self, share=share, spiking=False, factor=1.0, spacing=1.0, reason="few errors")
        over = min(1.0, (share - _ENDS) / (1 - _ENDS))
        return replace(
            self,
            share=share,
            spiking=True,
            factor=1 - (1 - _LEAST_FACTOR) * over,
            spacing=1 + (_MOST_SPACING - 1) * over,
            reason=f"{share:.0%} of the last runs failed",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Shares from 0 to 1: of the time that processes wait for a CPU, of the memory that is in use."""

    cpu: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """How much a machine under pressure should take: ``factor`` is 1 without pressure, and ``least`` where everything
    waits or is used.

    It falls at once and rises in steps, and it begins to rise only when the pressure is clearly below its threshold, so
    that a load around the threshold does not make claims swing.
    """

    threshold: float
    least: float
    # With the share in it, as a reason reads.
    sentence: str
    factor: float = 1.0
    pressed: bool = False
    reason: str = _NONE

    @classmethod
    def of_cpu(cls, threshold: float) -> "Pressure":
        return cls(threshold=threshold, least=_LEAST_FOR_CPU, sentence="processes wait for a CPU {:.0%} of the time")

    @classmethod
    def of_memory(cls, threshold: float) -> "Pressure":
        return cls(threshold=threshold, least=_LEAST_FOR_MEMORY, sentence="{:.0%} of the memory is in use")

    def after(self, share: float) -> "Pressure":
        if share > self.threshold:
            over = min(1.0, (share - self.threshold) / max(1 - self.threshold, 0.001))
            wanted = 1 - (1 - self.least) * over
            factor = min(wanted, self.factor + _STEP_UP)
            return replace(self, factor=factor, pressed=factor < 1, reason=self.sentence.format(share))
        if not self.pressed or share >= self.threshold * _RELEASE:
            return self
        factor = min(1.0, self.factor + _STEP_UP)
        done = factor >= 1
        return replace(self, factor=factor, pressed=not done, reason=_NONE if done else "the pressure has ended")
