"""Shrinks the claims of a runner and spaces its retries while the machine or a stage is in trouble.

Keeps what the pure controllers decided last, and tells when that changed much. Looks once per claim, and at the machine
at most once a second: nothing here is done per task.

A lack of CPUs shortens the slice of work that a claim holds, and so leaves claims of very quick tasks alone: claiming
those in smaller portions would cost more of what is lacking. A lack of memory and errors lower the number of tasks.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from penstock.adaptation.claims import Decision, ErrorSpike, Load, Pressure, shrunk
from penstock.config import Settings
from penstock.core.run import RunningStage
from penstock.events import Events
from penstock.workers.measuring import Pace

_PRESSURE = Path("/proc/pressure/cpu")
_CGROUP = Path("/sys/fs/cgroup")
_LOOK_SECONDS = 1.0
_MUCH = 0.25


def read_load() -> Load:
    """Well under a millisecond. What cannot be read counts as no pressure."""
    return Load(cpu=_cpu(), memory=max(psutil.virtual_memory().percent / 100, _share_of_the_cgroup()))


def memory_bytes() -> int:
    """Of this process alone, without children."""
    held: int = psutil.Process().memory_info().rss
    return held


def _cpu() -> float:
    """Share of the last ten seconds in which something waited for a CPU. Where the kernel does not tell, the share of
    what wants to run that has to wait, after the load average."""
    try:
        some = dict(pair.split("=") for pair in _PRESSURE.read_text().partition("\n")[0].split()[1:])
        return float(some["avg10"]) / 100
    except (OSError, KeyError, ValueError):
        wanting = os.getloadavg()[0]
        cores = os.cpu_count() or 1
        return 0.0 if wanting <= cores else 1 - cores / wanting


def _share_of_the_cgroup() -> float:
    """A container is killed at its own limit, however much the machine has. Files in the cache can be let go."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit == "max":
            return 0.0
        used = int((_CGROUP / "memory.current").read_text())
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return max(0, used - int(stat.get("inactive_file", 0))) / int(limit)
    except (OSError, ValueError, ZeroDivisionError):
        return 0.0


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
