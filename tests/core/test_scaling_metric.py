"""The metric that fleets are scaled by says exactly what waits."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import asyncpg

from penstock import Penstock
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition


async def _shown(app: Penstock) -> dict[str, int]:
    page = await Exposition(counter=Counter(), connect=app.connection, runners=lambda: []).render()
    found = re.findall(r'^penstock_stage_waiting\{stage="([^"]+)"\} (\S+)$', page.decode(), re.MULTILINE)
    return {stage: int(float(n)) for stage, n in found}


async def _waiting(connection: asyncpg.Connection) -> dict[str, int]:
    rows = await connection.fetch(
        """
        select s.pipeline, count(q.task_id) as n
        from penstock.stages s left join penstock.queue q on q.stage = s.id and q.worker is null group by 1
        """
    )
    return {row["pipeline"]: row["n"] for row in rows}


async def test_the_waiting_gauge_is_what_waits_and_not_what_runs_ended_or_was_cancelled(
    app: Penstock, connection: asyncpg.Connection, working: Callable[..., Any]
) -> None:
    gate, begun = asyncio.Event(), asyncio.Semaphore(0)

    @app.task(pool=3)
    async def held(n: int) -> None:
        begun.release()
        await gate.wait()

    @app.task()
    async def later(n: int) -> None:
        return None

    await held.enqueue_many([{"n": n} for n in range(3)])
    await later.options(delay=3600).enqueue_many([{"n": n} for n in range(40)])
    cancelled = await later.options(delay=3600).enqueue_many([{"n": n} for n in range(25)])
    async with working(upkeep=False):
        for _ in range(3):
            await asyncio.wait_for(begun.acquire(), 60)
        assert await _shown(app) == await _waiting(connection) == {"held": 0, "later": 65}
        await cancelled.cancel()
        # Its rows are still there, and no worker will run them.
        assert await _shown(app) == {"held": 0, "later": 40}
        gate.set()
