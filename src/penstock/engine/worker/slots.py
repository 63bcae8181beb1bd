"""Which task each processor is running, in memory that outlives the runner.

The runner writes a slot when a handler starts and clears it when it ends; the supervisor reads the table to see
deadlines, and after a crash to name the tasks that were running. A write is one store into a mapped file: no
system call, no lock.
"""

import mmap
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

_SLOT = struct.Struct("<qqqq")  # task, lease, started, deadline (monotonic nanoseconds; 0: none)
_TASK = struct.Struct("<q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A handler that has started and not ended."""

    slot: int
    task_id: int
    lease: int
    started_ns: int
    deadline_ns: int


class Slots:
    """``CLOCK_MONOTONIC`` is the same for all processes of a machine, so both sides may compare times."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.count = count
        self._file = path.open("r+b")
        self._memory = mmap.mmap(self._file.fileno(), count * _SLOT.size)

    @classmethod
    def create(cls, count: int, folder: Path | None = None) -> "Slots":
        """A zeroed table in a private file. The creator removes it."""
        handle, name = tempfile.mkstemp(prefix="penstock-slots-", dir=folder)
        os.ftruncate(handle, count * _SLOT.size)
        os.close(handle)
        return cls(Path(name), count)

    def start(self, slot: int, task_id: int, lease: int, started_ns: int, deadline_ns: int) -> None:
        _SLOT.pack_into(self._memory, slot * _SLOT.size, task_id, lease, started_ns, deadline_ns)

    def clear(self, slot: int) -> None:
        _TASK.pack_into(self._memory, slot * _SLOT.size, 0)

    def running(self) -> list[Running]:
        found = []
        for slot, (task_id, lease, started, deadline) in enumerate(_SLOT.iter_unpack(self._memory[:])):
            if task_id:
                found.append(
                    Running(slot=slot, task_id=task_id, lease=lease, started_ns=started, deadline_ns=deadline)
                )
        return found

    def close(self, *, remove: bool = False) -> None:
        self._memory.close()
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)
