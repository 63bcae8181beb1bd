"""Fires what is due: tasks of schedules, and callbacks of jobs whose every task has ended. Exactly once each, whoever
runs this and whenever he dies.

What says that it was fired is written in the transaction that enqueues: both happen or neither. For a schedule it is
the next time, moved forward by compare-and-set; the key of the task names schedule and time, so even a next time set
back by hand fires nothing twice while the task is kept. For a job it is a mark, under the lock of the job's row; a task
that is run again later changes nothing, because the mark stays.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg

from penstock.core.payload import clean_text
from penstock.errors import InvalidDefinition
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.schedules.scheduling import FIRES_PER_PLAN, Plan, fire_key, plan, times_of
from penstock.storage import callbacks, schedules
from penstock.storage.database import AGAIN, LOST
from penstock.storage.schedules import Fire, Schedule

SCHEDULES_PER_RUN = 500
_LONGEST_ERROR = 1000
# Jobs that have not ended cost two look-ups each, so a run looks at so many and the next one goes on behind them.
_BATCH = 1000
_BATCHES_PER_RUN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    events: Events = field(default_factory=Events)
    failpoints: Failpoints = field(default_factory=Failpoints)

    async def run_once(self, connection: Any) -> dict[str, int]:
        """Every due schedule gets its turn, also when one of them fails. A fault that is not the schedule's
        own leaves it due, and is raised after the last one had its turn."""
        due = await schedules.due(connection, SCHEDULES_PER_RUN)
        counts = Counter({"fired": 0, "skipped": 0, "failed": 0, "postponed": 0})
        share = max(1, FIRES_PER_PLAN // max(len(due), 1))
        fault: Exception | None = None
        for schedule in due:
            try:
                counts.update(await self._turn(connection, schedule, share))
            except AGAIN:
                counts["postponed"] += 1
            except LOST:
                raise
            except asyncpg.PostgresError as error:
                if connection.is_closed():
                    raise
                fault = fault or error
        if fault is not None:
            raise fault
        return dict(counts)

    async def _turn(self, connection: Any, schedule: Schedule, share: int) -> dict[str, int]:
        assert schedule.next_fire_at is not None, "only rows with a next time are due"
        try:
            planned = plan(times_of(schedule), schedule.next_fire_at, schedule.read_at, share)
        except InvalidDefinition as error:
            # Nobody can say when the next time is: it stands still until somebody corrects it.
            return await self._fail(connection, schedule, None, str(error))
        try:
            fires = await self._fire(connection, schedule, schedule.next_fire_at, planned)
        except asyncpg.PostgresError as error:
            if not _own_fault(error):
                raise
            return await self._fail(connection, schedule, planned.next_fire_at, _sentence(error))
        if fires is None:
            return {}
        self._tell(schedule, planned, fires)
        return {"fired": sum(fire.created for fire in fires), "skipped": planned.skipped}

    async def _fire(self, connection: Any, schedule: Schedule, due_at: datetime, planned: Plan) -> list[Fire] | None:
        """None: somebody else was quicker."""
        fires: list[Fire] = []
        newest = planned.times[-1] if planned.times else None
        async with connection.transaction():
            await schedules.bound(connection)
            if not await schedules.advance(
                connection, schedule.name, expected=due_at, next_fire_at=planned.next_fire_at, fired_at=newest
            ):
                return None
            if planned.times:
                keys = [fire_key(schedule.name, at) for at in planned.times]
                fires = await schedules.fire(connection, schedule.name, planned.times, keys)
            self.failpoints.hit("after_schedule_fire", connection.terminate)
        return fires

    async def _fail(
        self, connection: Any, schedule: Schedule, next_fire_at: datetime | None, error: str
    ) -> dict[str, int]:
        assert schedule.next_fire_at is not None
        error = clean_text(error, _LONGEST_ERROR)
        if not await schedules.fail(connection, schedule.name, schedule.next_fire_at, next_fire_at, error):
            return {}
        self.events.emit(
            "schedule.failed",
            schedule=schedule.name,
            at=schedule.next_fire_at,
            next=next_fire_at,
            error=error,
        )
        return {"failed": 1}

    def _tell(self, schedule: Schedule, planned: Plan, fires: list[Fire]) -> None:
        if planned.skipped:
            self.events.emit(
                "schedule.skipped",
                schedule=schedule.name,
                skipped=planned.skipped,
                more=planned.skipped_more,
                policy=schedule.missed,
            )
        if new := [fire for fire in fires if fire.created]:
            self.events.emit(
                "schedule.fired",
                schedule=schedule.name,
                pipeline=schedule.pipeline,
                tasks=[fire.task_id for fire in new],
                at=new[-1].at,
            )


def _sentence(error: asyncpg.PostgresError) -> str:
    """The message and what to do, without the server's layout."""
    parts = (getattr(error, "message", None) or str(error), getattr(error, "hint", None))
    return " ".join(part for part in parts if part)


class FanIn:
    """Remembers how far it looked, so that thousands of unfinished jobs do not hide a finished one behind them."""

    def __init__(self, *, events: Events, failpoints: Failpoints) -> None:
        self._events = events
        self._failpoints = failpoints
        self._after = 0

    async def run_once(self, connection: Any) -> dict[str, int]:
        counts = Counter({"called": 0, "failed": 0, "postponed": 0})
        for _ in range(_BATCHES_PER_RUN):
            looked = await callbacks.due(connection, after=self._after, limit=_BATCH)
            for job_id in looked.ended:
                counts.update(await self._call_back(connection, job_id))
            if looked.count < _BATCH or looked.last_id is None:
                self._after = 0
                break
            self._after = looked.last_id
        return dict(counts)

    async def _call_back(self, connection: Any, job_id: int) -> dict[str, int]:
        try:
            task_id = await self._fire(connection, job_id)
        except AGAIN:
            return {"postponed": 1}
        except asyncpg.PostgresError as error:
            if not _own_fault(error):
                raise
            problem = clean_text(getattr(error, "message", None) or str(error), _LONGEST_ERROR)
            if not await callbacks.fail(connection, job_id, problem):
                return {}
            self._events.emit("job.callback_failed", job=job_id, error=problem)
            return {"failed": 1}
        if task_id is None:
            return {}
        self._failpoints.hit("after_fan_in_commit", connection.terminate)
        self._events.emit("job.called_back", job=job_id, task=task_id)
        return {"called": 1}

    async def _fire(self, connection: Any, job_id: int) -> int | None:
        """None: somebody else was quicker, or the job has work again."""
        async with connection.transaction():
            if not await callbacks.hold(connection, job_id):
                return None
            self._failpoints.hit("before_fan_in", connection.terminate)
            task_id = await callbacks.fire(connection, job_id)
            if task_id is not None:
                self._failpoints.hit("during_fan_in", connection.terminate)
            return task_id


def _own_fault(error: asyncpg.PostgresError) -> bool:
    """Of the callback or schedule that is fired, by its SQLSTATE: our refusals, bad data, constraints, a trigger's
    `raise`. No other time would do better."""
    return str(error.sqlstate).startswith(("PK", "22", "23", "P0"))
