"""A small fleet on real tables, for tests of the statements: a pipeline, a lane, tasks, workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from penstock.lifecycle import State
from penstock.model import Advance, Claimed, Finish, Release
from penstock.storage import lanes, queue, stages, tasks, workers
from penstock.storage.queue import LaneClaim

LEASE_SECONDS = 3600.0
CRASH_LIMIT = 3
RESCUE_LIMIT = 10

Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One pipeline of one or more stages, with one lane. ``stages`` are ids in order."""

    connection: Connection
    pipeline: str
    stages: tuple[int, ...]
    lane: int

    async def worker(self, name: str = "test") -> int:
        return await workers.register(
            self.connection, supervisor=uuid4(), name=name, stages=list(self.stages), lease_seconds=LEASE_SECONDS
        )

    async def put(self, count: int = 1, **options: Any) -> list[int]:
        """That many tasks in the lane, due now unless ``delay_seconds`` says otherwise."""
        options.setdefault("lane", "default")
        made = []
        for _ in range(count):
            new = tasks.NewTask(pipeline=self.pipeline, input="{}", notify=False, **options)
            made.append((await tasks.enqueue(self.connection, new))[0])
        return made

    async def put_one(self, **options: Any) -> int:
        return (await self.put(1, **options))[0]

    async def claim(
        self, worker: int, count: int = 100, *, stage: int = 0, connection: Connection | None = None
    ) -> list[Claimed]:
        """From the front of the lane."""
        wanted = [LaneClaim(self.stages[stage], self.lane, count)]
        return await queue.claim(connection or self.connection, wanted, count, worker)

    async def claim_one(self, worker: int, *, stage: int = 0) -> Claimed:
        (claimed,) = await self.claim(worker, 1, stage=stage)
        return claimed

    async def finish(self, worker: int, claimed: Sequence[Claimed], state: State = State.DONE) -> int:
        ended = [Finish(one.task_id, one.lease, one.stage, state, "1", None) for one in claimed]
        return await queue.finish(self.connection, worker, ended)

    async def advance(self, worker: int, claimed: Claimed) -> int:
        following = self.stages[self.stages.index(claimed.stage) + 1]
        moved = Advance(
            task_id=claimed.task_id,
            lease=claimed.lease,
            stage=claimed.stage,
            next_stage=following,
            result='{"kept": true}',
        )
        return len(await queue.advance(self.connection, worker, [moved]))

    async def release(self, worker: int, claimed: Sequence[Claimed], **changes: Any) -> dict[int, int]:
        changes.setdefault("cause", "hand back")
        given_back = [Release(task_id=one.task_id, lease=one.lease, stage=one.stage, **changes) for one in claimed]
        return await queue.release(
            self.connection, worker, given_back, crash_limit=CRASH_LIMIT, rescue_limit=RESCUE_LIMIT
        )

    async def in_job(self, decision: str) -> int:
        """The lane belongs to a job about which this was decided, behind the lane's back."""
        job: int = await self.connection.fetchval(
            "insert into penstock.jobs (pipeline) values ($1) returning id", self.pipeline
        )
        await self.connection.execute(f"update penstock.jobs set {decision}_at = now(), {decision}_by = 'ann'")
        await self.connection.execute("update penstock.lanes set job_id = $1", job)
        return job

    async def row(self, task_id: int) -> Any:
        found = await self.connection.fetchrow("select * from penstock.queue where task_id = $1", task_id)
        return None if found is None else dict(found)

    async def outcome(self, task_id: int) -> Any:
        found = await self.connection.fetchrow("select * from penstock.outcomes where task_id = $1", task_id)
        return None if found is None else dict(found)

    async def state(self, task_id: int) -> str:
        """As people see it."""
        found: str = await self.connection.fetchval(
            "select state from penstock.task_states where task_id = $1", task_id
        )
        return found

    async def end_lease(self, worker: int) -> None:
        """Time passes for one worker."""
        await self.connection.execute(
            "update penstock.workers set lease_until = now() - interval '1 second' where id = $1", worker
        )

    async def counted(self) -> dict[int, int]:
        """state → sum over all counters."""
        rows = await self.connection.fetch(
            "select state, sum(n)::bigint as n from penstock.counts group by state having sum(n) <> 0"
        )
        return {row["state"]: row["n"] for row in rows}


_EMPTY = """
delete from penstock.queue; delete from penstock.outcomes; delete from penstock.attempts;
delete from penstock.checkpoints; delete from penstock.counts; delete from penstock.statistics;
delete from penstock.tasks; delete from penstock.lanes; delete from penstock.stages; delete from penstock.jobs;
delete from penstock.workers; delete from penstock.limits; delete from penstock.schedules;
delete from penstock.duties; delete from penstock.wakes;
"""


async def empty(connection: Connection) -> None:
    """Take every row away: quicker than a fresh database where hundreds of tests follow one another."""
    await connection.execute(_EMPTY)


async def build(
    connection: Connection,
    *,
    pipeline: str = "work",
    stage_names: Sequence[str] = ("only",),
    max_attempts: int = 3,
    max_running: int | None = None,
) -> World:
    """Register the pipeline and open its lane."""
    declared = [
        stages.Declared(name=name, position=position, max_attempts=max_attempts, max_running=max_running, policy="{}")
        for position, name in enumerate(stage_names, start=1)
    ]
    ids = await stages.register(connection, pipeline, declared)
    lane = await lanes.open_lane(connection, pipeline=pipeline, key="default", priority=0, owner=None, job_id=None)
    return World(
        connection=connection,
        pipeline=pipeline,
        stages=tuple(ids[name] for name in stage_names),
        lane=lane,
    )
