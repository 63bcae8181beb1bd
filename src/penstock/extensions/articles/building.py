"""Generations: build one beside the old, switch to it, roll back, drop. Searches go on all the time.

``build`` stores the generation, the job that fills it and the task ``articles.build`` in one transaction; the task
makes it ready (``filling.py``). A switch is one transaction. A dropped generation is out of use at once, and its table
goes a little later, when no search that began before can still be reading it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from penstock import EnqueueOptions, Penstock
from penstock.control import jobs as steering
from penstock.errors import HandlerError, IllegalMove, JobNotFound, UsageError
from penstock.extensions.articles import chunking, generations, reindexing
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.names import BUILD
from penstock.extensions.articles.reindexing import Plan
from penstock.extensions.articles.shared import ArticleSearch
from penstock.storage.queries import load

_sql = load("generation_moves", "penstock.extensions.articles")
Connection = Any

MOST_DIMENSIONS = 4000
LONGEST_NAME = 100
_PROBE = "A short text that tells whether the embedder answers."
# Beside the longest wait for the vector of a query: what a search that began before may still take.
_DROP_GRACE_SECONDS = 15.0
_SEARCHABLE = (GenerationState.READY, GenerationState.STANDBY)


async def build(
    search: ArticleSearch, *, name: str, embedder: str, chunk_characters: int = 700, overlap: int = 100, by: str
) -> Generation:
    """Probes the embedder first: a generation of one that does not answer would only collect failures."""
    named = name.strip()
    if not named or len(named) > LONGEST_NAME or not named.isprintable():
        raise UsageError(f"The name {name[:LONGEST_NAME]!r} will not do: use 1 to {LONGEST_NAME} printable characters.")
    chunker = str(chunking.Chunker(size=chunk_characters, overlap=overlap))
    model, dimensions = await _probed(search, embedder)
    async with search.app.connection() as connection:
        await _refuse_taken(connection, named)
        try:
            async with connection.transaction():
                about = {"name": named, "embedder": embedder, "model": model, "chunker": chunker, "by": by}
                made = await generations.insert(connection, dimensions=dimensions, **about)
                wish = Plan(generation=made.id)
                job_id, count = await reindexing.start_on(search, connection, wish, by)
                await _enqueue(search.app, connection, {"generation": made.id}, EnqueueOptions(owner=by))
                stored = await generations.require(connection, made.id)
        except asyncpg.UniqueViolationError:
            await _refuse_taken(connection, named)
            raise
    generations.emit_move(search.app, stored, "build", by=by)
    if job_id is not None:
        reindexing.tell_started(search, wish, job_id, count, by)
    return stored


async def switch(search: ArticleSearch, generation_id: int, by: str) -> Generation:
    """Searches use it from the next one on. The one before stays, is kept up to date, and can be rolled back to."""
    async with _moving(search) as connection:
        wanted = await generations.require(connection, generation_id)
        if wanted.state not in _SEARCHABLE:
            raise _refused("switch to", wanted, _SEARCHABLE)
        await connection.execute(_sql.stand_by)
        await connection.execute(_sql.activate, generation_id)
        now = await generations.require(connection, generation_id)
    generations.emit_move(search.app, now, "switch", by=by)
    return now


async def roll_back(search: ArticleSearch, by: str) -> Generation:
    """Back to the one that was switched to before the active one; once more goes further back, never forward again."""
    async with _moving(search) as connection:
        before = await connection.fetchval(_sql.active_before)
        if before is None:
            active = await generations.active(connection)
            raise IllegalMove(
                move="roll back",
                subject=f"from generation {active.name!r}",
                state="the oldest one that can be used: none was active before it, or that one was dropped",
                allowed_from=("a generation that took the place of one on standby",),
                next_step="`penstock articles generations list` shows what `generations switch` can go to.",
            )
        await connection.execute(_sql.leave)
        await connection.execute(_sql.reactivate, before)
        now = await generations.require(connection, before)
    generations.emit_move(search.app, now, "roll-back", by=by)
    return now


async def drop(search: ArticleSearch, generation_id: int, by: str) -> Generation:
    """Never the active one. What still waits to be embedded for it is cancelled, or ends as skipped."""
    async with _moving(search) as connection:
        found = await generations.require(connection, generation_id)
        if await connection.fetchval(_sql.mark_dropped, generation_id) is None:
            raise _refused("drop", found, (GenerationState.BUILDING, *_SEARCHABLE))
        delay_seconds = _DROP_GRACE_SECONDS + search.settings.query_timeout_seconds
        removal = EnqueueOptions(owner=by, delay=delay_seconds)
        await _enqueue(search.app, connection, {"generation": generation_id, "remove": True}, removal)
        dropped = await generations.require(connection, generation_id)
    async with search.app.connection() as connection:
        jobs = await reindexing.unfinished(connection)
    for job in jobs:
        if job.wanted.get("generation") == dropped.id:
            with suppress(IllegalMove, JobNotFound):  # it has ended meanwhile
                await steering.cancel(search.app, job.job_id, by=by)
    generations.emit_move(search.app, dropped, "drop", by=by)
    return dropped


@asynccontextmanager
async def _moving(search: ArticleSearch) -> AsyncIterator[Connection]:
    """The transaction of a move, one at a time."""
    async with search.app.connection() as connection, connection.transaction():
        await connection.execute(_sql.lock_all)
        yield connection


def _refused(move: str, found: Generation, allowed: tuple[GenerationState, ...]) -> IllegalMove:
    next_step = {
        GenerationState.BUILDING: found.note or "Wait until it is ready: `penstock articles generations list`.",
        GenerationState.ACTIVE: "Searches use it: switch to another one first.",
        GenerationState.DROPPED: "Build a new one: `penstock articles generations build`.",
    }.get(found.state, "`penstock articles generations list` shows what is there.")
    return generations.refused(move, found, allowed, next_step)


async def _probed(search: ArticleSearch, name: str) -> tuple[str, int]:
    """(model, dimensions), from a vector that it really made."""
    try:
        embedder = search.embedders.get(name)
        vectors = await embedder.embed([_PROBE], purpose="document")
    except HandlerError as error:
        raise UsageError(f"No generation was made, because the embedder {name!r} cannot be used now: {error}") from None
    dimensions = int(vectors.shape[1])
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise UsageError(
            f"The embedder {name!r} makes vectors of {dimensions:,} numbers; at most {MOST_DIMENSIONS:,} can be "
            "searched. Choose another model, or ask it for fewer dimensions."
        )
    return embedder.model, dimensions


async def _refuse_taken(connection: Connection, name: str) -> None:
    taken = await generations.by_name(connection, name)
    if taken is not None:
        raise UsageError(f"Generation {taken.id} is called {name!r} already ({taken.state}). Choose another name.")


async def _enqueue(app: Penstock, connection: Connection, order: dict[str, Any], options: EnqueueOptions) -> None:
    """In the caller's transaction. No unique key: one that waits for something else must not swallow it."""
    await app.store(app.pipelines[BUILD], order, options, connection)
