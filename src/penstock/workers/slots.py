"""Which task each processor is running, in memory that outlives the runner.

The runner writes a slot when a handler starts and clears it when it ends; the supervisor reads the table to see
deadlines, and after a crash to name the tasks that were running. A write is one store into a mapped file: no
system call, no lock.

The other way round, the head of the table holds the moment up to which the leases certainly hold, written after every
heartbeat. A runner that was frozen, or whose supervisor is, sees there that it may not start anything any more.
"""

import mmap
import os
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_SLOT = struct.Struct("<qqqq")  # task, lease, started, deadline (monotonic nanoseconds; 0: none)
_TASK = struct.Struct("<q")
_HEAD_BYTES = _SLOT.size


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
        self._memory = mmap.mmap(self._file.fileno(), _HEAD_BYTES + count * _SLOT.size)

    @classmethod
    def create(cls, count: int, folder: Path | None = None) -> "Slots":
        """A zeroed table in a private file. The creator removes it."""
        handle, name = tempfile.mkstemp(prefix="penstock-slots-", dir=folder)
        os.ftruncate(handle, _HEAD_BYTES + count * _SLOT.size)
        os.close(handle)
        return cls(Path(name), count)

    def start(self, slot: int, task_id: int, lease: int, started_ns: int, deadline_ns: int) -> None:
        _SLOT.pack_into(self._memory, _HEAD_BYTES + slot * _SLOT.size, task_id, lease, started_ns, deadline_ns)

    def clear(self, slot: int) -> None:
        _TASK.pack_into(self._memory, _HEAD_BYTES + slot * _SLOT.size, 0)

    def renewed(self, safe_until: float) -> None:
        """The leases hold up to this moment of the monotonic clock."""
        _TASK.pack_into(self._memory, 0, int(safe_until * 1e9))

    def safe(self) -> bool:
        """Whether the leases certainly hold now. Before the first heartbeat is written, they do."""
        until: int = _TASK.unpack_from(self._memory, 0)[0]
        return until == 0 or time.monotonic_ns() < until

    def lapse(self) -> None:
        """The runner ends of its own accord. Noted here, because a handler may end the process with any exit code."""
        _TASK.pack_into(self._memory, _TASK.size, 1)

    def lapsed(self) -> bool:
        noted: int = _TASK.unpack_from(self._memory, _TASK.size)[0]
        return noted == 1

    def running(self) -> list[Running]:
        found = []
        for slot, (task_id, lease, started, deadline) in enumerate(_SLOT.iter_unpack(self._memory[_HEAD_BYTES:])):
            if task_id:
                found.append(Running(slot=slot, task_id=task_id, lease=lease, started_ns=started, deadline_ns=deadline))
        return found

    def close(self, *, remove: bool = False) -> None:
        self._memory.close()
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)
