"""Tells outside listeners what changed, on the channel ``penstock_changes``.

Listens to the engine's events and sends what they add up to, at most five times a second per process, whatever the
load: a dashboard is kept fresh without a message per task. See ``docs/notify.md`` for the payload.
"""

import asyncio
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.errors import DatabaseError
from penstock.events import Event
from penstock.storage import changes
from penstock.storage.database import passing

# (type, id); the id is empty where it is nobody else's business.
Touched = tuple[str, str]

EVERY_SECONDS = 0.2
# PostgreSQL refuses payloads of 8,000 bytes.
LIMIT_BYTES = 7500

# What has no job: the event, the type of what changed, and where its name stands. None: it belongs to somebody, so its
# name is told to nobody.
_OBJECTS: dict[str, tuple[str, str | None]] = {
    "schedule.fired": ("schedule", "schedule"),
    "schedule.skipped": ("schedule", "schedule"),
    "schedule.failed": ("schedule", "schedule"),
    "limiter.blocked": ("limit", "key"),
    "limiter.opened": ("limit", "key"),
    "limiter.closed": ("limit", "key"),
}

Connect = Callable[[], AbstractAsyncContextManager[Any]]


class Changes:
    """``on_event`` gathers, ``run`` sends. What could not be sent stays and goes out with the next message."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._labels: dict[int, str] = {}
        self._first: dict[str, str] = {}
        self._stages: dict[str, dict[str, int]] = {}
        self._jobs: set[int] = set()
        self._objects: set[Touched] = set()
        # Job of each task this process holds: endings name tasks only.
        self._job_of: dict[int, int] = {}
        self._something = asyncio.Event()

    def know(self, labels: Mapping[int, str]) -> None:
        """Names of stages by id, in the order of their pipelines."""
        self._labels.update(labels)
        for label in labels.values():
            self._first.setdefault(label.partition("/")[0], label)

    def on_event(self, event: Event) -> None:
        data = event.data
        match event.name:
            case "tasks.enqueued":
                self._count(self._first.get(data["pipeline"], data["pipeline"]), "enqueued", data["count"])
                if "job" in data:
                    self._jobs.add(data["job"])
            case "tasks.claimed":
                self._count(self._label(data), "claimed", data["count"])
                job_of = data.get("job_of")
                if job_of:
                    self._job_of.update(job_of)
                    self._jobs.update(job_of.values())
            case "tasks.finished":
                self._count(self._label(data), data["state"].lower(), data["count"])
                self._let_go(data["tasks"])
            case "tasks.advanced":
                self._count(self._label(data), "advanced", data["count"])
                self._let_go(data["tasks"])
            case "tasks.released":
                self._count(self._label(data), "released", data["count"])
                self._let_go(data["tasks"])
            case "jobs.steered":
                self._jobs.add(data["job"])
            case "tasks.reprocessed" | "tasks.cancelled":
                if "job" in data:  # a replay of dead letters belongs to many jobs, or to none
                    self._jobs.add(data["job"])
            case name if name in _OBJECTS:
                kind, named = _OBJECTS[name]
                self._objects.add((kind, str(data[named]) if named else ""))
            case _ if event.touches is not None:
                self._objects.add((event.touches, ""))
            case _:
                return
        self._something.set()

    def touched(self, kind: str) -> None:
        """Something of this type changed that no event tells of."""
        self._objects.add((kind, ""))
        self._something.set()

    async def run(self) -> None:
        """Send when there is something; the pause comes after, so a lone change is told at once."""
        while True:
            await self._something.wait()
            await self.run_once()
            await asyncio.sleep(EVERY_SECONDS)

    async def run_once(self) -> int:
        """Send one message with what was gathered; returns how many stages, jobs and objects it named."""
        self._something.clear()
        stages, jobs, objects = self._stages, self._jobs, self._objects
        if not stages and not jobs and not objects:
            return 0
        self._stages, self._jobs, self._objects = {}, set(), set()
        try:
            async with self._connect() as connection:
                await changes.tell(connection, payload(stages, jobs, objects))
        except Exception as error:
            if not (passing(error) or isinstance(error, DatabaseError)):
                raise
            self._put_back(stages, jobs)
            self._objects |= objects
            return 0
        return len(stages) + len(jobs) + len(objects)

    def _put_back(self, stages: dict[str, dict[str, int]], jobs: set[int]) -> None:
        for label, counts in stages.items():
            for what, n in counts.items():
                self._count(label, what, n)
        self._jobs |= jobs
        self._something.set()

    def _label(self, data: Mapping[str, Any]) -> str:
        return self._labels.get(data["stage"], str(data["stage"]))

    def _count(self, label: str, what: str, n: int) -> None:
        if n:
            counts = self._stages.setdefault(label, {})
            counts[what] = counts.get(what, 0) + n

    def _let_go(self, task_ids: list[int]) -> None:
        if self._job_of:
            for task_id in task_ids:
                job = self._job_of.pop(task_id, None)
                if job is not None:
                    self._jobs.add(job)


def payload(stages: Mapping[str, Mapping[str, int]], jobs: Set[int], objects: Set[Touched] = frozenset()) -> str:
    """JSON that fits into one NOTIFY. Where it does not, objects and jobs are left out first and ``complete`` is
    false."""
    message: dict[str, Any] = {
        "stages": stages,
        "jobs": sorted(jobs),
        "objects": sorted(objects),
        "complete": True,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    while len(encoded := orjson.dumps(message)) > LIMIT_BYTES:
        message["complete"] = False
        if message["objects"]:
            message["objects"] = []
        elif message["jobs"]:
            message["jobs"] = message["jobs"][: len(message["jobs"]) // 2]
        else:
            kept = list(message["stages"].items())
            message["stages"] = dict(kept[: len(kept) // 2])
    return encoded.decode()


async def tell_steered(connection: Any, *, stage: str | None = None, touched: Touched | None = None) -> None:
    """What people decide is told where it is stored: they may do it in a process that tells nothing else."""
    stages = {} if stage is None else {stage: {"steered": 1}}
    await changes.tell(connection, payload(stages, set(), set() if touched is None else {touched}))
