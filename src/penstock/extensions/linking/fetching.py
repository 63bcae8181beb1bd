"""``linking.fetch``: one batch of entities, for whatever records of any project wait for them; and who makes batches.

An entity that breaks its fetch must neither take the others along nor be asked for again and again: what cannot be
stored is found one by one, and fetches that died are divided.

Batches are made of what searches found: full ones as soon as there are enough, the rest at the end. Asked after the
commit of whatever found or brought something. Of several that end at one time the last one to commit sees all of it,
so nothing is left lying; where a process dies between its commit and the question, the watch of the run asks instead.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import asyncpg

from penstock import Context, Skip
from penstock.core.payload import clean_text
from penstock.errors import DatabaseError
from penstock.extensions.linking import cache, projects, records
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.records import Ready
from penstock.extensions.linking.stages import FETCH, SCORE, SEARCH, reason_if_last

if TYPE_CHECKING:
    from penstock.extensions.linking.shared import RecordLinking

# What the server, its driver or the encoder say about data. A database that is away says something else.
UNSTORABLE = (asyncpg.DataError, asyncpg.ProgramLimitExceededError, TypeError, ValueError)
_REASON_CHARACTERS = 500
# Of one transaction.
_MOST_BATCHES = 20
# Between two questions of one process for the same source: searches end faster than that.
_PAUSE_SECONDS = 0.1
# Scoring a record takes about a millisecond.
RECORDS_PER_TASK = 100


async def fetch(linking: "RecordLinking", ctx: Context, source_name: str, ids: list[str]) -> Any:
    async with linking.app.connection() as connection:
        running = await projects.running_of_source(connection, source_name)
        if not running:
            await cache.give_up(connection, source_name, ids)
            return Skip("no project waits for them any more")
        ids = await cache.given_to(connection, source_name, ids, ctx.task_id)
        if not ids:
            return Skip("others have fetched them meanwhile")
        languages = _languages(linking, running, await cache.languages_of(connection, source_name, ids))
    try:
        source = await linking.sources.prepare(source_name)
        found = await source.entities(
            ids, languages=languages, properties=_properties(running), limiter=ctx.limiter(source.key)
        )
    except Exception as error:
        if (reason := reason_if_last(ctx, error)) is not None:
            async with linking.app.connection() as connection:
                await _give_up(connection, source_name, ids, reason)
        raise
    told = {one: found.get(one) for one in ids}
    result: dict[str, int] | None = None
    try:
        async with ctx.transaction() as transaction:
            await cache.keep(transaction.connection, source_name, told, languages=languages)
            transaction.result = {"entities": len(ids)}
    except UNSTORABLE:
        result = {"entities": len(ids), "lost": await _keep_each(linking, source_name, told, languages)}
    # After the commit: of two that bring a record its last candidates, the later one sees all of them.
    async with linking.app.connection() as connection, connection.transaction():
        await hand_over(linking, connection, await records.ready_by_entities(connection, source_name, ids))
    await linking.batching.ask(source_name)
    return result


async def divide_dead(linking: "RecordLinking", source: str, project_id: int, run: int) -> None:
    """Fetches that died without having told their records why: by a fault nobody foresaw, or because their worker
    crashed each time. Halves of them are tried again, in the end each entity alone."""
    async with linking.app.connection() as connection:
        if not await cache.dead(connection, source):
            return
        async with connection.transaction():
            await cache.one_maker(connection, source)
            project = await projects.hold(connection, project_id, run)
            if project is None:
                return
            # Looked at again, now that nobody else divides them.
            for task_id, ids in (await cache.dead(connection, source)).items():
                if len(ids) == 1:
                    reason = f"{ids[0]} could not be fetched; `penstock tasks show {task_id}` says why"
                    await _give_up(connection, source, ids, reason)
                    continue
                enqueueable = linking.task(FETCH, job=project.job_id, owner=project.owner)
                for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
                    task = await enqueueable.enqueue_on(connection, source=source, ids=half)
                    await cache.pass_on(connection, source, half, old=task_id, new=task.id)


async def _keep_each(
    linking: "RecordLinking", source: str, found: Mapping[str, Entity | None], languages: Sequence[str]
) -> int:
    """One at a time; records that wait for one that cannot be stored are told. Returns how many those were."""
    lost = 0
    for id, entity in found.items():
        async with linking.app.connection() as connection:
            try:
                await cache.keep(connection, source, {id: entity}, languages=languages)
            except UNSTORABLE as error:
                lost += 1
                reason = clean_text(f"What {source} says about {id} cannot be stored: {error}", _REASON_CHARACTERS)
                await _give_up(connection, source, [id], reason)
    return lost


async def _give_up(connection: Any, source: str, ids: Sequence[str], reason: str) -> None:
    async with connection.transaction():
        await records.fail_by_entities(connection, source, ids, reason)
        await cache.give_up(connection, source, ids)


def _languages(linking: "RecordLinking", running: Sequence[Project], asked: Sequence[str]) -> tuple[str, ...]:
    """Those of the projects first; then those of single records, and of earlier projects, which would lose them."""
    chosen = (one for project in running for one in linking.options_of(project).languages)
    return tuple(dict.fromkeys((*chosen, *asked)))


def _properties(running: Sequence[Project]) -> tuple[str, ...]:
    named = (role.property for project in running for role in project.roles.values())
    return tuple(dict.fromkeys(one for one in named if one))


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
                return await _make_batches(self._linking, connection, source, size)


async def _make_batches(linking: "RecordLinking", connection: Any, source: str, size: int) -> bool:
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
