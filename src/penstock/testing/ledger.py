"""The double ledger: handlers write down that they ran, in a table and in a file of their process; afterwards both
are compared with what the engine says happened.

The file survives what the database forgets (a rolled back transaction), the table what the disk of a process forgets.
"""

import os
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from penstock.core.context import Context
from penstock.errors import UsageError
from penstock.testing import ledger_table as table
from penstock.testing.ledger_table import Entry

FOLDER = "PENSTOCK_LEDGER"


class Pen:
    """What a handler writes with. One file per process; a line is one ``write``, so a kill leaves no half of two."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: int | None = None
        self._opened_for: tuple[int, Path] | None = None

    def note(self, ctx: Context, kind: str) -> None:
        """Into the file only."""
        entry = {"task_id": ctx.task_id, "lease": ctx.lease, "kind": kind, "pid": os.getpid(), "at": time.time()}
        os.write(self._opened(), orjson.dumps(entry) + b"\n")

    async def write(self, connection: Any, ctx: Context, kind: str) -> None:
        """Into the file, then into the table. In the connection of ``ctx.transaction()`` the row exists if and only if
        the task was settled with it; then only the table counts."""
        self.note(ctx, kind)
        await table.append(connection, ctx.task_id, ctx.lease, kind, os.getpid())

    def _opened(self) -> int:
        wanted = (os.getpid(), self._folder or _folder_from_environment())
        if self._file is None or self._opened_for != wanted:
            if self._file is not None:
                os.close(self._file)
            name = wanted[1] / f"{wanted[0]}-{time.time_ns()}.jsonl"
            self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._opened_for = wanted
        return self._file


def _folder_from_environment() -> Path:
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise UsageError(f"{FOLDER} is not set. Point it at the folder of the ledger before the worker starts.")
    return Path(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the comparison found. All lists name task ids."""

    tasks: int
    # Accepted, and neither ended nor waiting nor running: gone.
    lost: list[int]
    # Accepted and not ended yet. After a run that drained, these count as lost.
    unfinished: list[int]
    # Settled by a lease that never started it, effects in its transaction other than one, or endings counted twice.
    settled_twice: list[int]
    miscounted: int
    # In the table but not in a file: a handler that ran without leaving a trace in its process.
    unwitnessed: list[int]
    # Attempts burned without a cause in the history.
    uncaused: list[int]
    starts: int
    states: dict[int, int] = field(default_factory=dict)

    @property
    def extra_runs(self) -> int:
        return self.starts - self.tasks

    @property
    def exact(self) -> bool:
        """Nothing lost, nothing left, nothing twice."""
        wrong = (self.lost, self.unfinished, self.settled_twice, self.unwitnessed, self.uncaused)
        return not any(wrong) and self.miscounted == 0


class Ledger:
    """The reader's side, in the process that runs the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a worker needs to write into this ledger."""
        return {FOLDER: str(self.folder)}

    def files(self) -> list[Entry]:
        found = []
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                with suppress(orjson.JSONDecodeError):  # the last line of a process that was killed while it wrote
                    found.append(Entry(**orjson.loads(line)))
        return found

    def starts(self) -> dict[int, dict[int, float]]:
        """task → lease → when that run started."""
        found: dict[int, dict[int, float]] = {}
        for entry in self.files():
            if entry.kind == "start":
                found.setdefault(entry.task_id, {})[entry.lease] = entry.at
        return found

    async def audit(self, connection: Any, accepted: Collection[int], *, transactional: Collection[int] = ()) -> Audit:
        """``accepted``: the tasks whose enqueue returned. ``transactional``: those whose effect is written in
        ``ctx.transaction()``, so exactly once if they ended as DONE and not at all otherwise."""
        task_ids = list(accepted)
        rows = await table.entries(connection)
        starts = self.starts()
        ended = await table.outcomes(connection, task_ids)
        waiting = await table.unfinished(connection, task_ids)
        effects = Counter(row.task_id for row in rows if row.kind == "effect")
        done = {task_id for task_id, (_, status) in ended.items() if status == _DONE}
        twice = {task_id for task_id in transactional if effects[task_id] != (task_id in done)}
        twice |= {task_id for task_id in done if ended[task_id][0] not in starts.get(task_id, {})}
        witnessed = {(entry.task_id, entry.lease, entry.kind) for entry in self.files()}
        return Audit(
            tasks=len(task_ids),
            lost=sorted(set(task_ids) - set(ended) - waiting),
            unfinished=sorted(waiting),
            settled_twice=sorted(twice),
            miscounted=await table.miscounted(connection),
            unwitnessed=sorted({r.task_id for r in rows if (r.task_id, r.lease, r.kind) not in witnessed}),
            uncaused=await table.uncaused(connection, task_ids),
            starts=sum(len(starts.get(task_id, {})) for task_id in task_ids),
            states=dict(Counter(status for _, status in ended.values())),
        )


_DONE = 2


def recovery_seconds(
    starts: Mapping[int, Mapping[int, float]], held: Collection[tuple[int, int]], killed_at: float
) -> dict[int, float]:
    """For each (task, lease) that was held when its worker was killed: how long until it ran again under a newer
    lease. A task that does not appear was settled before the kill after all."""
    found = {}
    for task_id, lease in held:
        later = [at for number, at in starts.get(task_id, {}).items() if number > lease]
        if later:
            found[task_id] = max(min(later) - killed_at, 0.0)
    return found
