"""Through a backlog with the runner's own statements and nothing around them: what the database alone can do."""

import asyncio
import os
import time
from contextlib import AsyncExitStack
from operator import itemgetter
from typing import Any
from uuid import uuid4

from penstock.storage import workers
from penstock.storage.queries import load
from penstock.storage.queue import FRONT
from penstock_bench import cpu
from penstock_bench import statements as bench
from penstock_bench.drain import Drained
from penstock_bench.ground import Site, connected

# Columns of the claim: task_id, lease, …, run_at.
_TASK, _LEASE, _RUN_AT = 0, 1, 8
_position = itemgetter(_RUN_AT, _TASK)
# Nobody heartbeats for the bare loop; without a lease the upkeep would take its tasks away.
_LEASE_SECONDS = 3600.0


async def drain(site: Site, pipeline: str, lane: int, *, connections: int, batch: int) -> Drained:
    """Claim a batch, finish it, again and again on every connection until nothing is left."""
    stage = await bench.stage(site.connection, pipeline)
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(connected(site.settings, site.url)) for _ in range(connections)]
        loops = [await Loop.prepare(connection, stage, lane, batch) for connection in opened]
        wal_before, cpu_before = await bench.wal_bytes(site.connection), await cpu.used(site, os.getpid())
        started = time.monotonic()
        counts = await asyncio.gather(*(loop.run() for loop in loops))
        seconds = time.monotonic() - started
        wal_bytes = await bench.wal_bytes(site.connection) - wal_before
        took = await cpu.used(site, os.getpid()) - cpu_before
        await workers.stop(site.connection, [loop.worker for loop in loops])
    return Drained(count=sum(counts), seconds=seconds, wal_bytes=wal_bytes, cpu=took)


class Loop:
    """One connection with the two statements, prepared."""

    def __init__(self, claim: Any, finish: Any, stage: int, lane: int, batch: int, worker: int) -> None:
        self._claim = claim
        self._finish = finish
        self._stage = stage
        self._lane = lane
        self._batch = batch
        self.worker = worker

    @classmethod
    async def prepare(cls, connection: Any, stage: int, lane: int, batch: int) -> "Loop":
        sql = load("queue")
        worker = await workers.register(
            connection, supervisor=uuid4(), name="bare", stages=[stage], lease_seconds=_LEASE_SECONDS
        )
        claim, finish = await connection.prepare(sql.claim), await connection.prepare(sql.finish)
        return cls(claim, finish, stage, lane, batch, worker)

    async def run(self) -> int:
        """Starts behind the last claim, as a runner does."""
        after, count = FRONT, 0
        while True:
            rows = await self._claim.fetch(
                [self._stage], [self._lane], [self._batch], [after[0]], [after[1]], self._batch, self.worker
            )
            if not rows:
                return count
            after = _position(max(rows, key=_position))
            task_ids, leases = [row[_TASK] for row in rows], [row[_LEASE] for row in rows]
            count += await self._finish.fetchval(task_ids, leases, None, None, None, self.worker, None)
