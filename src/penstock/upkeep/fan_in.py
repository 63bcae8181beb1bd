"""Calls back for jobs whose every task has ended: once per job, whoever runs this and whenever he dies.

The callback's task and the mark on the job are written in one transaction, under the lock of the job's row: both happen
or neither. A task that is run again later changes nothing, because the mark stays.
"""

from collections import Counter
from typing import Any

import asyncpg

from penstock.core.payload import clean_text
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import callbacks
from penstock.storage.database import AGAIN
from penstock.upkeep.duty import own_fault

# Jobs that have not ended cost two look-ups each, so a run looks at so many and the next one goes on behind them.
_BATCH = 1000
_BATCHES_PER_RUN = 20
_LONGEST_PROBLEM = 1000


class FanIn:
    """Remembers how far it looked, so that thousands of unfinished jobs do not hide a finished one behind them."""

    def __init__(self, *, events: Events, failpoints: Failpoints, every_seconds: float = 1.0) -> None:
        self.name = "fan-in"
        self.every_seconds = every_seconds
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
            if not own_fault(error):
                raise
            problem = clean_text(getattr(error, "message", None) or str(error), _LONGEST_PROBLEM)
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
