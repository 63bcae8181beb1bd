"""What the benches run: tasks that do nothing, so that what is measured is the engine."""

import mmap
import os
import struct
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from penstock.application import Penstock
from penstock.core.background import BackgroundTask

MARKS = "PENSTOCK_BENCH_MARKS"
MARK = struct.Struct("<q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """``bare`` is ``noop`` once more, never served by a runner: the bare statements work on it."""

    noop: BackgroundTask[Any, Any]
    bare: BackgroundTask[Any, Any]
    mark: BackgroundTask[Any, Any]


async def _noop(sku: str, title: str, url: str, amount: int) -> None:
    return None


async def _mark(number: int) -> None:
    """Says when it started, in shared memory: no system call between the start and the note of it."""
    MARK.pack_into(_marks(), number * MARK.size, time.monotonic_ns())


@cache
def _marks() -> mmap.mmap:
    with Path(os.environ[MARKS]).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def declare(app: Penstock) -> Tasks:
    """Every database of a bench has an application of its own, with the same tasks."""
    return Tasks(
        noop=app.task(name="noop")(_noop), bare=app.task(name="bare")(_noop), mark=app.task(name="mark")(_mark)
    )


def sample(number: int) -> dict[str, Any]:
    """An input of 150 bytes as JSON, like a row of a catalogue."""
    return {
        "sku": f"A-{number:08d}",
        "title": "Oak table, oiled, extendable, 180 to 240 cm, with steel legs",
        "url": f"https://shop.example/p/{number:08d}/oak",
        "amount": number % 1000 + 1000,
    }


# What the runner processes import.
app = Penstock("bench")
declare(app)
