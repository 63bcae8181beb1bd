"""Makes tasks out of entities that searches found: full batches as soon as there are enough, the rest at the end.

Asked after the commit of whatever found or brought something. Of several that end at one time the last one to commit
sees all of it, so nothing is left lying; where a process dies between its commit and the question, the watch of the run
asks instead.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from penstock.errors import DatabaseError
from penstock.extensions.linking import cache, projects
from penstock.extensions.linking.names import FETCH, SCORE, SEARCH
from penstock.extensions.linking.records import Ready

if TYPE_CHECKING:
    from penstock.extensions.linking.shared import RecordLinking

# Of one transaction.
_MOST_BATCHES = 20
# Between two questions of one process for the same source: searches end faster than that.
_PAUSE_SECONDS = 0.1
# Scoring a record takes about a millisecond.
RECORDS_PER_TASK = 100


class Batching:
    """One maker per source and process at a time; those that ask meanwhile are served by its next round."""

    def __init__(self, linking: "RecordLinking") -> None:
        self._linking = linking
        self._asked: set[str] = set()
        self._asked_at: dict[str, float] = {}
        self._hinted: dict[str, asyncio.Task[None]] = {}
        self._making: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def hint(self, source: str) -> None:
        """Something was found: asks at once, or together with others in a moment."""
        if source in self._hinted:
            return
        wait = self._asked_at.get(source, 0.0) + _PAUSE_SECONDS - monotonic()
        if wait <= 0:
            await self.ask(source)
            return
        self._hinted[source] = asyncio.create_task(self._ask_later(source, wait))

    async def close(self) -> None:
        """What was not asked any more is asked by the watch of the run."""
        for one in self._hinted.values():
            one.cancel()
        await asyncio.gather(*self._hinted.values(), return_exceptions=True)
        self._hinted.clear()

    async def _ask_later(self, source: str, wait_seconds: float) -> None:
        await asyncio.sleep(wait_seconds)
        # Before the question: what is found from here on is hinted at anew.
        self._hinted.pop(source, None)
        with suppress(DatabaseError):  # the watch of the run asks again
            await self.ask(source)

    async def ask(self, source: str) -> None:
        self._asked_at[source] = monotonic()
        self._asked.add(source)
        if self._making[source].locked():
            return
        async with self._making[source]:
            while source in self._asked:
                self._asked.discard(source)
                while await self._make(source):
                    pass

    async def _make(self, source: str) -> bool:
        """One round; True: there may be more."""
        size = self._linking.sources.batch_size(source)
        async with self._linking.app.connection() as connection:
            demand = await cache.demand(connection, source, batch=size, searches=SEARCH)
            if demand.wanted < size and (demand.searching or not demand.wanted):
                return False
            async with connection.transaction():
                return await make_batches(self._linking, connection, source, size)


async def make_batches(linking: "RecordLinking", connection: Any, source: str, size: int) -> bool:
    """Under a lock that the whole fleet shares: batches neither overlap nor are cut while more may come."""
    await cache.one_maker(connection, source)
    running = await projects.fetching_of_source(connection, source, FETCH)
    # Looked at again, now that nobody else makes batches.
    demand = await cache.demand(connection, source, batch=size, searches=SEARCH)
    wanted = await cache.wanted(connection, source, size * _MOST_BATCHES)
    if demand.searching or len(wanted) == size * _MOST_BATCHES:
        wanted = wanted[: len(wanted) // size * size]
    # A batch may be for several projects; it belongs to the job of one that is still there.
    held = None
    for project_id, run in running:
        if (held := await projects.hold(connection, project_id, run)) is not None:
            break
    if not wanted or held is None:
        return False
    for chunk in _chunks(wanted, size):
        enqueueable = linking.task(FETCH, job=held.job_id, owner=held.owner)
        task = await enqueueable.enqueue_on(connection, source=source, ids=chunk)
        await cache.give_to(connection, source, chunk, task.id)
    return len(wanted) == size * _MOST_BATCHES


async def hand_over(linking: "RecordLinking", connection: Any, ready: Sequence[Ready]) -> int:
    """Tasks that score these records, in the transaction that marked them; returns how many tasks."""
    by_project: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for one in ready:
        by_project[(one.project_id, one.run)].append(one.id)
    made = 0
    for (project_id, run), ids in by_project.items():
        project = await projects.hold(connection, project_id, run)
        if project is None:
            continue
        enqueueable = linking.task(SCORE, job=project.job_id, owner=project.owner)
        for chunk in _chunks(ids, RECORDS_PER_TASK):
            await enqueueable.enqueue_on(connection, project=project_id, run=run, records=chunk)
            made += 1
    return made


def _chunks(values: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(values[at : at + size]) for at in range(0, len(values), size)]
