"""Whoever calls back for a job dies at every point of it. The callback comes once, and its effect once."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock
from penstock.core.jobs import Job
from penstock.testing.processes import WorkerTree
from tests.crash.conftest import StartWorker, eventually
from tests.crash.crash_app import effect, quick

_POINTS = ("before_fan_in", "during_fan_in", "after_fan_in_commit")


async def _effects(connection: asyncpg.Connection) -> list[int]:
    """The n of every callback that took effect; one row per effect."""
    rows = await connection.fetch(
        """
        select (t.input ->> 'n')::integer as n from penstock_testing.ledger e join penstock.tasks t on t.id = e.task_id
        where e.kind = 'effect' order by 1
        """
    )
    return [row["n"] for row in rows]


async def _called(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("select count(*) from penstock.jobs where called_back_at is not null")
    return count


async def _fan_out(number: int, tasks: int) -> Job:
    return await quick.enqueue_many(
        [{"n": n} for n in range(tasks)], then=effect, then_arguments={"n": number, "seconds": 0.0}
    )


@pytest.mark.parametrize("point", _POINTS)
async def test_one_who_dies_calling_back_is_followed_by_another(
    point: str, app: Penstock, connection: asyncpg.Connection, start_worker: StartWorker
) -> None:
    await _fan_out(7, tasks=5)
    dying = start_worker(ready=False, failpoints=f"{point}:kill:1")

    async def dead() -> bool:
        return not dying.alive

    await eventually(dead, what=f"the death at {point}")
    assert await _called(connection) == (1 if point == "after_fan_in_commit" else 0)
    start_worker()

    async def in_effect() -> bool:
        return await _effects(connection) == [7]

    await eventually(in_effect, what="the effect of the callback")
    stored = (
        "select count(*) from penstock.tasks t join penstock.stages s on s.id = t.entry where s.pipeline = 'effect'"
    )
    assert await connection.fetchval(stored) == 1


async def test_jobs_call_back_once_each_while_workers_are_killed_and_replaced(
    app: Penstock, connection: asyncpg.Connection, start_worker: StartWorker
) -> None:
    count = 30
    await asyncio.gather(*(_fan_out(number, tasks=4) for number in range(count)))
    deaths = 0
    storm = ",".join(f"{point}:kill:0.1" for point in _POINTS)

    def another() -> WorkerTree:
        return start_worker(ready=False, failpoints=storm, crash_limit="90", rescue_limit="90")

    living = [another(), another()]

    async def all_in_effect() -> bool:
        nonlocal deaths
        for place, tree in enumerate(living):
            if not tree.alive:
                deaths += 1
                living[place] = another()
        return len(await _effects(connection)) >= count

    await eventually(all_in_effect, seconds=120, what="the effects of all callbacks")
    assert deaths >= 2, "the storm has to have killed somebody"
    assert await _effects(connection) == list(range(count))
    assert await _called(connection) == count
