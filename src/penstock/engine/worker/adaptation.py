"""Shrinks the claims of a runner and spaces its retries while the machine or a stage is in trouble.

Keeps what the pure controllers decided last, and tells when that changed much. Looks once per claim, and at the machine
at most once a second: nothing here is done per task.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.config import Settings
from penstock.engine.control.decision import Decision, shrunk
from penstock.engine.control.error_spike import ErrorSpike
from penstock.engine.control.pressure import Load, Pressure
from penstock.engine.events import Events
from penstock.engine.run import LiveStage
from penstock.engine.worker.load import read_load

_LOOK_SECONDS = 1.0
_MUCH = 0.25


class Measured(Protocol):
    """What the runner counts of a stage anyway."""

    runs: int
    errors: int


class Adaptation:
    def __init__(
        self,
        *,
        settings: Settings,
        stages: Mapping[int, LiveStage],
        measured: Mapping[int, Measured],
        events: Events,
        load: Callable[[], Load] = read_load,
    ) -> None:
        self._least = settings.claim_min
        self._stages = stages
        self._measured = measured
        self._events = events
        self._load = load
        self._looked_at = float("-inf")
        self.pressure = Pressure(cpu_threshold=settings.cpu_pressure, memory_threshold=settings.memory_pressure)
        self.spikes = {stage: ErrorSpike() for stage in stages}
        self._judged = dict.fromkeys(stages, (0, 0))
        self._told_pressure = 1.0
        self._told_spikes = dict.fromkeys(stages, 1.0)

    def run_once(self) -> None:
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self.pressure = self.pressure.after(self._load())
            if _changed_much(self._told_pressure, self.pressure.factor):
                self._told_pressure = self.pressure.factor
                self._events.emit("claims.adapted", factor=self.pressure.factor, reason=self.pressure.reason)
        for stage, measured in self._measured.items():
            runs, errors = self._judged[stage]
            if measured.runs != runs:
                self._judged[stage] = (measured.runs, measured.errors)
                self._judge(stage, measured.runs - runs, measured.errors - errors)

    def _judge(self, stage: int, endings: int, errors: int) -> None:
        spike = self.spikes[stage] = self.spikes[stage].after(endings, errors)
        self._stages[stage].retry_spacing = spike.spacing
        if _changed_much(self._told_spikes[stage], spike.factor):
            self._told_spikes[stage] = spike.factor
            self._events.emit(
                "claims.adapted", stage=stage, factor=spike.factor, spacing=spike.spacing, reason=spike.reason
            )

    def shrink(self, stage: int, wanted: Decision[int]) -> Decision[int]:
        """What is left of a claim under the present trouble; the reasons are in the decision."""
        spike = self.spikes[stage]
        less = shrunk(wanted, factor=spike.factor, least=self._least, reason=spike.reason)
        return shrunk(less, factor=self.pressure.factor, least=self._least, reason=self.pressure.reason)

    def shown(self, stage: int) -> dict[str, Any]:
        """For the status of the runner."""
        spike = self.spikes[stage]
        return {
            "pressure_factor": self.pressure.factor,
            "errors_factor": spike.factor,
            "retry_spacing": spike.spacing,
        }


def _changed_much(told: float, now: float) -> bool:
    """Also when the trouble has ended: who read of its beginning wants to read of its end."""
    return abs(told - now) >= _MUCH or (now >= 1 > told)
