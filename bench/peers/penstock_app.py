"""Penstock in the peers harness: its handlers, and how the harness enqueues.

Imported by the harness's driver and by Penstock's own worker; `rec` and `common` are the harness's modules.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import rec
from common import NAP, PG_DSN, payload

from penstock import Penstock
from penstock.config import load
from penstock.storage.migrate import migrate, schemas

app = Penstock("peers", settings=load(database_url=PG_DSN))


@app.task()
async def noop(job: dict[str, Any]) -> None:
    rec.hit(job["i"])


@app.task()
async def nap(job: dict[str, Any]) -> None:
    rec.start(job["i"])
    await asyncio.sleep(NAP)
    rec.end(job["i"])


TASKS = {"noop": noop, "nap": nap}


class Driver:
    """What the harness calls. ``reset`` leaves an empty, migrated schema that knows the tasks."""

    async def open(self) -> None:
        await app.open()
        self.connection = await asyncpg.connect(PG_DSN)

    async def close(self) -> None:
        await self.connection.close()
        await app.close()

    async def reset(self) -> None:
        connection = await asyncpg.connect(PG_DSN)
        await connection.execute(f"drop schema if exists {', '.join(schemas())} cascade")
        await migrate(connection)
        await connection.close()
        async with app:
            pass

    async def one(self, i: int, kind: str) -> None:
        await TASKS[kind].enqueue(payload(i))

    async def batch(self, ids: Sequence[int], kind: str) -> None:
        await TASKS[kind].enqueue_many({"job": payload(i)} for i in ids)

    async def pending(self) -> int:
        waiting: int = await self.connection.fetchval("select count(*) from penstock.queue")
        return waiting
