"""A queue of embeddings on real tables, moved by the engine's own statements: no embedder, no worker process."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock import Penstock
from penstock.config import Settings
from penstock.control import dead_letters, jobs, lanes, tasks
from penstock.errors import PenstockError
from penstock.extensions.articles import upkeep
from penstock.extensions.articles.names import PIPELINE
from penstock.lifecycle import FINISHED, State
from penstock.model import Claimed, Finish
from penstock.storage import counts as counters
from penstock.storage import lanes as lane_table
from penstock.storage import queue
from penstock.storage.tasks import NewTask, enqueue
from penstock.upkeep.duties import Retention, remove_deleted
from tests.storage.world import World, build

DAY_SECONDS = 86_400.0
ENDINGS = (State.DONE, State.DONE, State.ERROR, State.SKIPPED)


@dataclass(frozen=True, slots=True)
class EmbeddingQueue:
    app: Penstock
    world: World

    @property
    def connection(self) -> Any:
        return self.world.connection

    async def put(self, article: int = 1, *, operation: str = "create", revision: int = 1, **options: Any) -> int:
        given = {"article": article, "revision": revision, "generation": 1, "operation": operation}
        options.setdefault("owner", "ann")
        new = NewTask(pipeline=PIPELINE, input=json.dumps(given), notify=False, **options)
        return (await enqueue(self.connection, new))[0]

    async def run(self, task_id: int, state: State, *, error: dict[str, Any] | None = None, result: str = "{}") -> None:
        """As a worker would: claimed, then ended so."""
        worker = await self.world.worker()
        (claimed,) = await queue.claim_by_id(self.connection, [task_id], worker)
        await self.end(worker, claimed, state, error=error, result=result)

    async def end(
        self, worker: int, one: Claimed, state: State, *, error: dict[str, Any] | None = None, result: str = "{}"
    ) -> None:
        told = json.dumps(error or {"type": "EmbedderBusy", "class": "transient", "message": "no answer"})
        failed = state is State.ERROR
        ending = Finish(one.task_id, one.lease, one.stage, state, None if failed else result, told if failed else None)
        await queue.finish(self.connection, worker, [ending])

    async def age(self, days: float, task_ids: Sequence[int] | None = None) -> None:
        """Time passes for what has ended."""
        for statement in (
            "update penstock.outcomes set finished_at = finished_at - $1 * interval '1 day' "
            "where $2::bigint[] is null or task_id = any ($2)",
            "update penstock.tasks set created_at = created_at - $1 * interval '1 day' "
            "where $2::bigint[] is null or id = any ($2)",
        ):
            await self.connection.execute(statement, days, task_ids)

    async def plain_count(self) -> dict[str, int]:
        """What the statistics have to say, counted the long way."""
        rows = await self.connection.fetch(
            "select state, count(*) as n from penstock.task_states where pipeline = $1 group by state", PIPELINE
        )
        found = {row["state"]: row["n"] for row in rows}
        return {
            "pending": found.get("PENDING", 0),
            "processing": found.get("PROCESSING", 0),
            "completed": sum(found.get(state, 0) for state in ("DONE", "SKIPPED", "NOT_FOUND")),
            "failed": found.get("ERROR", 0),
            "cancelled": found.get("CANCELLED", 0),
        }


async def embedding_queue(app: Penstock, connection: Any) -> EmbeddingQueue:
    world = await build(connection, pipeline=PIPELINE, stage_names=(PIPELINE,), max_attempts=4)
    return EmbeddingQueue(app, world)


class History:
    """A random life of a queue: each step is one move that people, workers or upkeep make."""

    def __init__(self, queue_: EmbeddingQueue, seed: int) -> None:
        self._queue = queue_
        self._app = queue_.app
        self._chance = random.Random(seed)
        self._held: list[tuple[int, Claimed]] = []
        self._jobs: list[int] = []
        self._ids: list[int] = []

    async def step(self) -> str:
        moves = (
            *[self._put] * 4, self._put_into_job, *[self._claim] * 3, *[self._end] * 4, self._release, self._cancel,
            self._cancel_job, self._cancel_lane, self._sweep, self._reprocess, self._retry, self._edit, self._clear,
            self._retention, self._fold, self._rest, self._delete_job, self._age,
        )  # fmt: skip
        move = self._chance.choice(moves)
        try:
            await move()
        except PenstockError as refused:
            return f"{move.__name__} (refused: {refused})"
        return move.__name__

    @property
    def _connection(self) -> Any:
        return self._queue.connection

    def _some(self, ids: Sequence[int]) -> list[int]:
        return self._chance.sample(list(ids), min(len(ids), self._chance.randint(1, 4)))

    async def _put(self) -> None:
        for _ in range(self._chance.randint(1, 5)):
            owner, priority = self._chance.choice(["ann", "bob"]), self._chance.choice([-10, 0, 10])
            self._ids.append(await self._queue.put(owner=owner, priority=priority))

    async def _put_into_job(self) -> None:
        if not self._jobs or self._chance.random() < 0.3:
            self._jobs.append(
                await self._connection.fetchval(
                    "insert into penstock.jobs (pipeline, owner) values ($1, 'ann') returning id", PIPELINE
                )
            )
        job = self._chance.choice(self._jobs)
        open_one = await self._connection.fetchval(
            "select id from penstock.jobs where id = $1 and cancelled_at is null and deleted_at is null", job
        )
        for _ in range(self._chance.randint(1, 6) if open_one is not None else 0):
            self._ids.append(await self._queue.put(job_id=job, priority=10))

    async def _claim(self) -> None:
        worker = await self._queue.world.worker()
        waiting = await self._connection.fetch(
            "select q.task_id from penstock.queue q join penstock.lanes l on l.id = q.lane "
            "where q.worker is null and l.cancelled_at is null"
        )
        chosen = self._some([row["task_id"] for row in waiting])
        if chosen:
            claimed = await queue.claim_by_id(self._connection, chosen, worker)
            self._held += [(worker, one) for one in claimed]

    async def _end(self) -> None:
        if self._held:
            worker, one = self._held.pop(self._chance.randrange(len(self._held)))
            await self._queue.end(worker, one, self._chance.choice(ENDINGS))

    async def _release(self) -> None:
        if self._held:
            worker, one = self._held.pop()
            await self._queue.world.release(worker, [one], cause="retry", burned=True)

    async def _cancel(self) -> None:
        for task_id in self._some(self._ids):
            await tasks.cancel(self._app, task_id, by="ann")

    async def _cancel_job(self) -> None:
        if self._jobs:
            await jobs.cancel(self._app, self._chance.choice(self._jobs), by="ann")

    async def _cancel_lane(self) -> None:
        await lanes.cancel(self._app, PIPELINE, "owner:bob", by="ann")

    async def _sweep(self) -> None:
        await queue.sweep_cancelled(self._connection, self._chance.choice([1, 100]))

    async def _reprocess(self) -> None:
        for task_id in self._some(self._ids):
            await tasks.reprocess(self._app, [task_id], by="ann")

    async def _retry(self) -> None:
        await upkeep.retry_failed(self._app, by="ann")

    async def _edit(self) -> None:
        dead = await self._connection.fetch("select task_id from penstock.outcomes where status = 3")
        if dead:
            given = {"article": 2, "revision": 1, "generation": 1, "operation": "create"}
            copy = await dead_letters.edit(self._app, self._chance.choice(dead)["task_id"], given, by="ann")
            self._ids.append(copy.id)

    async def _age(self) -> None:
        rows = await self._connection.fetch("select task_id from penstock.outcomes order by task_id")
        await self._queue.age(self._chance.choice([10, 20, 40]), self._some([row["task_id"] for row in rows]))

    async def _clear(self) -> None:
        await upkeep.clear_completed(self._app, self._chance.choice([0, 5, 15, 30]), by="ann")

    async def _retention(self) -> None:
        await Retention(settings=Settings(retention_days=self._chance.choice([15, 30]))).run_once(self._connection)

    async def _fold(self) -> None:
        await counters.fold(self._connection, self._chance.choice([3, 1000]))

    async def _rest(self) -> None:
        """Empty lanes are switched off."""
        await lane_table.activate_woken(self._connection)
        await lane_table.deactivate_idle(self._connection, batch=100, idle_seconds=-1)

    async def _delete_job(self) -> None:
        if self._jobs:
            await jobs.delete(self._app, self._chance.choice(self._jobs), by="ann")
        await remove_deleted(self._connection, settled_seconds=self._chance.choice([-1, 100]))


__all__ = ["DAY_SECONDS", "FINISHED", "EmbeddingQueue", "History", "embedding_queue"]
