"""How loaded this machine is, as its kernel says it: for the pressure controller."""

import os
from pathlib import Path

import psutil

from penstock.adaptation.pressure import Load

_PRESSURE = Path("/proc/pressure/cpu")
_CGROUP = Path("/sys/fs/cgroup")


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
