"""How much a machine under pressure should take: all of it, or a share.

Pure. The factor falls at once and rises in steps, and it begins to rise only when the pressure is clearly below its
threshold, so that a load around the threshold does not make claims swing.
"""

from dataclasses import dataclass, replace

# A busy machine still has to be kept busy; one that runs out of memory has to take almost nothing.
_LEAST_FOR_CPU = 0.5
_LEAST_FOR_MEMORY = 0.1
_RELEASE = 0.9
_STEP_UP = 0.1
_NONE = "no pressure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Shares from 0 to 1: of the time that processes wait for a CPU, of the memory that is in use."""

    cpu: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """``factor`` is 1 without pressure, and ``least`` where everything waits or is used."""

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
