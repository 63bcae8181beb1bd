"""Jobs of the catalogue whose rows are moved by hand, so that a test knows what changes when.

Its stage is paused: what a worker would do is written by statements of the same effect, and told as a worker tells it.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import asyncpg
import orjson

from penstock.observe.changes import payload
from tests.browser.world import World

STAGE = ("catalogue", "enrich")
EVERY_SECONDS = 0.2  # as often as a process of workers tells

_STORE = """
with stored as (
    insert into penstock.tasks (entry, job_id, owner, input)
    select s.id, $1, l.owner, jsonb_build_object('row', n, 'cells', jsonb_build_array('Lamp ' || n, 'Brand ' || n % 7))
    from penstock.stages s, penstock.lanes l, generate_series($2::integer, $3::integer) n
    where s.pipeline = 'catalogue' and s.name = 'enrich' and l.job_id = $1
    order by n
    returning id, entry
), queued as (
    insert into penstock.queue (task_id, lane, stage)
    select t.id, l.id, t.entry from stored t, penstock.lanes l where l.job_id = $1
)
insert into penstock.counts (lane, stage, state, n)
select l.id, (select min(entry) from stored), 0, (select count(*) from stored) from penstock.lanes l where l.job_id = $1
"""

_END = """
with gone as (
    delete from penstock.queue where task_id = any ($1::bigint[]) returning task_id, lane, stage, run
), counted as (
    insert into penstock.counts (lane, stage, state, n) select lane, stage, $2, count(*) from gone group by 1, 2
)
insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, result, error)
select g.task_id, t.job_id, g.lane, g.stage, $2, 1, g.run, $3::text::jsonb, $4::text::jsonb
from gone g join penstock.tasks t on t.id = g.task_id
"""


def pause(world: World) -> None:
    answer = world.api("root").post(f"/api/stages/{STAGE[0]}/{STAGE[1]}/pause", json={"reason": "stock-taking"})
    assert answer.status_code == 200, answer.text


def job(world: World, rows: Sequence[dict[str, str]], name: str = "Spring lamps", owner: str = "ann") -> int:
    submitter = owner if owner in ("ann", "bob", "root") else "root"
    answer = world.api(submitter).post("/api/jobs", json={"pipeline": "catalogue", "name": name, "items": list(rows)})
    assert answer.status_code == 202, answer.text
    job_id: int = answer.json()["jobId"]
    if owner != submitter:
        for table, column in (("jobs", "id"), ("tasks", "job_id"), ("lanes", "job_id")):
            world.sql(f"update penstock.{table} set owner = $2 where {column} = $1", job_id, owner)
    return job_id


def large_job(world: World, rows: int, name: str = "Many lamps") -> int:
    job_id = job(world, [{"Title": "Lamp 1", "Brand": "Brand 1"}], name)
    world.sql(_STORE, job_id, 2, rows)
    world.sql("analyze")
    return job_id


def ids(world: World, job_id: int) -> list[int]:
    return [row["id"] for row in world.sql("select id from penstock.tasks where job_id = $1 order by id", job_id)]


def store(world: World, job_id: int, first: int, last: int) -> None:
    world.sql(_STORE, job_id, first, last)
    tell(world, job_id)


def end(world: World, job_id: int, task_ids: Sequence[int], status: int, result: Any = None, error: Any = None) -> None:
    world.sql(_END, list(task_ids), status, _json(result), _json(error))
    tell(world, job_id)


def tell(world: World, job_id: int) -> None:
    world.sql("select pg_notify('penstock_changes', $1)", payload({}, {job_id}))


def failure(message: str) -> dict[str, str]:
    return {"type": "PermanentError", "class": "permanent", "where": "shop.py:12 look_up", "message": message}


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


class Feeder:
    """Something happens five times a second, in a thread of its own, until the block ends."""

    def __init__(self, world: World, job_id: int, step: Callable[[asyncpg.Connection, int], Any]) -> None:
        self._world, self._job_id, self._step = world, job_id, step
        self._ending = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.failed: BaseException | None = None

    def __enter__(self) -> "Feeder":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        self._thread.join(60)
        if self.failed is not None:
            raise self.failed

    async def _run(self) -> None:
        connection = await asyncpg.connect(self._world.url)
        try:
            begun, number = time.monotonic(), 0
            while not self._ending.is_set():
                await self._step(connection, number)
                await connection.execute("select pg_notify('penstock_changes', $1)", payload({}, {self._job_id}))
                number += 1
                await asyncio.sleep(max(0.0, begun + number * EVERY_SECONDS - time.monotonic()))
        except BaseException as error:
            self.failed = error
        finally:
            await connection.close()


def arriving(job_id: int, first: int, per_second: int) -> Callable[[asyncpg.Connection, int], Any]:
    """Rows that are stored behind the last one."""
    size = int(per_second * EVERY_SECONDS)

    async def step(connection: asyncpg.Connection, number: int) -> None:
        start = first + number * size
        await connection.execute(_STORE, job_id, start, start + size - 1)

    return step


def changing(task_ids: Sequence[int], per_second: int) -> Callable[[asyncpg.Connection, int], Any]:
    """Rows that are done, one after the other, with the time of it in a cell; then again from the first."""
    size = int(per_second * EVERY_SECONDS)

    async def step(connection: asyncpg.Connection, number: int) -> None:
        chosen = [task_ids[(number * size + n) % len(task_ids)] for n in range(size)]
        result = _json({"columns": {"Matched title": f"t{time.time() * 1000:.0f}"}})
        await connection.execute(
            """update penstock.outcomes set result = $2::text::jsonb, finished_at = clock_timestamp()
               where task_id = any ($1::bigint[])""",
            chosen,
            result,
        )

    return step
