"""How much of the articles a search by meaning can find. One function per query of ``sql/coverage.sql``."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.apps.article_search import generations
from penstock.apps.article_search.generation import Generation
from penstock.storage.queries import load

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch

_sql = load("coverage", "penstock.apps.article_search")
Connection = Any

# A count that takes longer is told again for a while instead of being made again: it then costs a twentieth of one
# busy connection at most.
_QUICK_SECONDS = 0.005
_TOLD_AGAIN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """``stale``: found by an older text; ``pending``: by words only. Exact at ``as_of``."""

    indexed: int
    stale: int
    pending: int
    total: int
    generation: str
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Of articles without vectors: how many wait for their embedding, failed, or have none to come."""

    waiting: int
    failed: int
    missing: int


class Counted:
    """The last slow count of a process, by generation, and who is making a new one."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[float, Coverage]] = {}
        self._counting: dict[int, asyncio.Task[None]] = {}

    def get(self, generation: Generation) -> tuple[Coverage | None, bool]:
        """What is known, and whether it may be told as it is."""
        until, coverage = self._told.get(generation.id, (0.0, None))
        return coverage, time.monotonic() < until

    def put(self, generation: Generation, coverage: Coverage, seconds: float) -> None:
        self._told.pop(generation.id, None)
        if seconds > _QUICK_SECONDS:
            self._told[generation.id] = (time.monotonic() + seconds * _TOLD_AGAIN, coverage)

    def renew(self, generation: Generation, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """One at a time, while searches are told the last count."""
        running = self._counting.get(generation.id)
        if running is None or running.done():
            self._counting[generation.id] = asyncio.get_running_loop().create_task(make())

    async def close(self) -> None:
        for task in self._counting.values():
            task.cancel()
        await asyncio.gather(*self._counting.values(), return_exceptions=True)


async def coverage(shared: "ArticleSearch", connection: Connection, generation: Generation | None = None) -> Coverage:
    """Of the active generation unless another is given. A search waits for a count only where there is none yet, or it
    is quick."""
    chosen = generation or await generations.active(connection)
    told, current = shared.counted.get(chosen)
    if told is None:
        return await _counted(shared, connection, chosen)
    if not current:
        shared.counted.renew(chosen, partial(_renewed, shared, chosen))
    return told


async def _counted(shared: "ArticleSearch", connection: Connection, generation: Generation) -> Coverage:
    began = time.monotonic()
    counted = await count(connection, generation)
    shared.counted.put(generation, counted, time.monotonic() - began)
    return counted


async def _renewed(shared: "ArticleSearch", generation: Generation) -> None:
    with suppress(Exception):  # the next search asks again
        async with shared.app.connection() as connection:
            await _counted(shared, connection, generation)


async def count(connection: Connection, generation: Generation) -> Coverage:
    """Now, whatever it costs."""
    row = await connection.fetchrow(_sql.count, generation.id)
    indexed, stale, total = row["indexed"], row["stale"], row["total"]
    return Coverage(
        indexed=indexed,
        stale=stale,
        pending=total - indexed - stale,
        total=total,
        generation=generation.name,
        as_of=row["as_of"],
    )


async def breakdown(connection: Connection, generation: Generation) -> Breakdown:
    """By the tasks that the saves made, which are those of the generation that was active then."""
    return Breakdown(**await connection.fetchrow(_sql.breakdown, generation.id))


async def chunks(connection: Connection, generation: Generation) -> int:
    """Vectors of a generation, now."""
    found: int = await connection.fetchval(_sql.chunks, generation.id)
    return found
