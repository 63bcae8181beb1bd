"""How much of a claim a machine under pressure should take: all of it, or a share.

Pure. The factor falls at once and rises in steps, and it begins to rise only when the pressure is clearly below its
threshold, so that a load around the threshold does not make claims swing.
"""

from dataclasses import dataclass, replace

# A busy machine still has to be kept busy; one that runs out of memory has to take almost nothing.
_LEAST_FOR_CPU = 0.5
_LEAST_FOR_MEMORY = 0.1
_RELEASE = 0.9
_STEP_UP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Shares from 0 to 1: of the time that processes wait for a CPU, of the memory that is in use."""

    cpu: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """``factor`` on the claim, 1 without pressure."""

    cpu_threshold: float
    memory_threshold: float
    factor: float = 1.0
    pressed: bool = False
    reason: str = "no pressure"

    def after(self, load: Load) -> "Pressure":
        cpu = _factor(load.cpu, self.cpu_threshold, _LEAST_FOR_CPU)
        memory = _factor(load.memory, self.memory_threshold, _LEAST_FOR_MEMORY)
        wanted = min(cpu, memory)
        if wanted < 1:
            factor = wanted if wanted < self.factor else min(wanted, self.factor + _STEP_UP)
            return replace(self, factor=factor, pressed=True, reason=_told(load, cpu <= memory))
        calm = load.cpu < self.cpu_threshold * _RELEASE and load.memory < self.memory_threshold * _RELEASE
        if not self.pressed or not calm:
            return self
        factor = min(1.0, self.factor + _STEP_UP)
        done = factor >= 1
        return replace(
            self, factor=factor, pressed=not done, reason="no pressure" if done else "the pressure has ended"
        )


def _factor(share: float, threshold: float, least: float) -> float:
    """1 up to the threshold, then down in a line to ``least`` where everything waits or is used."""
    if share <= threshold:
        return 1.0
    return 1 - (1 - least) * min(1.0, (share - threshold) / max(1 - threshold, 0.001))


def _told(load: Load, by_cpu: bool) -> str:
    if by_cpu:
        return f"processes wait for a CPU {load.cpu:.0%} of the time"
    return f"{load.memory:.0%} of the memory is in use"
