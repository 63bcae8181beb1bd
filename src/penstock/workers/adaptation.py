"""Shrinks the claims of a runner and spaces its retries while the machine or a stage is in trouble.

Keeps what the pure controllers decided last, and tells when that changed much. Looks once per claim, and at the machine
at most once a second: nothing here is done per task.

A lack of CPUs shortens the slice of work that a claim holds, and so leaves claims of very quick tasks alone: claiming
those in smaller portions would cost more of what is lacking. A lack of memory and errors lower the number of tasks.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.adaptation.decision import Decision, shrunk
from penstock.adaptation.error_spike import ErrorSpike
from penstock.adaptation.pressure import Load, Pressure
from penstock.config import Settings
from penstock.core.run import RunningStage
from penstock.events import Events
from penstock.workers.load import read_load
from penstock.workers.measuring import Pace

_LOOK_SECONDS = 1.0
_MUCH = 0.25


class Adaptation:
    def __init__(
        self,
        *,
        settings: Settings,
        stages: Mapping[int, RunningStage],
        measured: Mapping[int, Pace],
        events: Events,
        load: Callable[[], Load] = read_load,
    ) -> None:
        self._least = settings.claim_min
        self._stages = stages
        self._measured = measured
        self._events = events
        self._load = load
        self._looked_at = float("-inf")
        self._slice_ms = settings.worker_target_slice_ms
        self.cpu = Pressure.of_cpu(settings.cpu_pressure)
        self.memory = Pressure.of_memory(settings.memory_pressure)
        self.spikes = {stage: ErrorSpike() for stage in stages}
        self._judged = dict.fromkeys(stages, (0, 0))
        self._told_pressure = {"cpu": 1.0, "memory": 1.0}
        self._told_spikes = dict.fromkeys(stages, 1.0)

    def run_once(self) -> None:
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._look_at_the_machine()
        for stage, measured in self._measured.items():
            runs, errors = self._judged[stage]
            if measured.runs != runs:
                self._judged[stage] = (measured.runs, measured.errors)
                self._judge(stage, measured.runs - runs, measured.errors - errors)

    def _look_at_the_machine(self) -> None:
        load = self._load()
        self.cpu, self.memory = self.cpu.after(load.cpu), self.memory.after(load.memory)
        for cause, seen in (("cpu", self.cpu), ("memory", self.memory)):
            if _changed_much(self._told_pressure[cause], seen.factor):
                self._told_pressure[cause] = seen.factor
                self._events.emit("claims.adapted", cause=cause, factor=seen.factor, reason=seen.reason)

    def _judge(self, stage: int, endings: int, errors: int) -> None:
        spike = self.spikes[stage] = self.spikes[stage].after(endings, errors)
        self._stages[stage].retry_spacing = spike.spacing
        if _changed_much(self._told_spikes[stage], spike.factor):
            self._told_spikes[stage] = spike.factor
            self._events.emit(
                "claims.adapted",
                cause="errors",
                stage=stage,
                factor=spike.factor,
                spacing=spike.spacing,
                reason=spike.reason,
            )

    @property
    def slice_ms(self) -> float:
        """How much work a claim should hold now."""
        return self._slice_ms * self.cpu.factor

    def shrink(self, stage: int, wanted: Decision[int]) -> Decision[int]:
        """What is left of a claim under the present trouble; the reasons are in the decision."""
        spike = self.spikes[stage]
        if self.cpu.pressed:
            wanted = replace(wanted, reason=f"{wanted.reason}; slice × {self.cpu.factor:.2f}: {self.cpu.reason}")
        less = shrunk(wanted, factor=spike.factor, least=self._least, reason=spike.reason)
        return shrunk(less, factor=self.memory.factor, least=self._least, reason=self.memory.reason)

    def shown(self, stage: int) -> dict[str, Any]:
        """For the status of the runner."""
        spike = self.spikes[stage]
        return {
            "cpu_factor": self.cpu.factor,
            "memory_factor": self.memory.factor,
            "errors_factor": spike.factor,
            "retry_spacing": spike.spacing,
        }


def _changed_much(told: float, now: float) -> bool:
    """Also when the trouble has ended: who read of its beginning wants to read of its end."""
    return abs(told - now) >= _MUCH or (now >= 1 > told)
