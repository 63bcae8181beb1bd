"""The index for nearest neighbours: built beside everything else, repaired where a build died, never needed.

Without it searches scan, which is exact and slower. So every step here may be refused by the server, and nothing fails.
"""

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import asyncpg

from penstock import Penstock
from penstock.extensions.articles import reindexing
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.names import BUILD
from penstock.storage.queries import load

_sql = load("ann", "penstock.extensions.articles")
Connection = Any

WORTH_CHUNKS = 5_000
# Longer than the index of a hundred million chunks takes; the client's own limit for statements is half a minute.
LONGEST_SECONDS = 7 * 86_400.0
# A job with fewer tasks than this may come while the index is there.
_BULK_TASKS = 1_000
_LEAST_MEMORY_MB, _MOST_MEMORY_MB = 64, 2_048
# Of one row beside its vector, with m = 20. A build whose graph does not fit goes on at a fraction of its speed.
_BYTES_PER_LINK_LIST = 1_300


class Outcome(StrEnum):
    """What became of a wish for an index."""

    BUILT = "built"
    THERE = "there"
    UNDER_WAY = "under way"
    TOO_SMALL = "too small"
    NO_PGVECTOR = "no pgvector"


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    valid: bool
    being_built: bool


async def ensure_index(app: Penstock, generation: Generation) -> bool:
    """Queue the build of an index that a growing generation should have; True where it was queued.

    Not built here, because whoever calls this once a minute has a deadline that fits minutes.
    """
    if generation.state in (GenerationState.BUILDING, GenerationState.DROPPED):
        return False
    async with app.connection() as connection:
        if await _state(connection, generation) == _State(valid=True, being_built=False):
            return False
        if not await connection.fetchval(generation.query(_sql.worth_it), WORTH_CHUNKS):
            return False
        if await _bulk_runs(connection, generation) or not await has_pgvector(connection):
            return False
    await app.enqueue(BUILD, {"generation": generation.id}, unique_key=unique_key(generation.id))
    return True


def unique_key(generation_id: int) -> str:
    """While a build of it waits, further ones are coalesced into that one."""
    return f"{BUILD} {generation_id}"


async def build_index(app: Penstock, generation: Generation) -> Outcome:
    """As long as it takes. What an earlier build that died has left is removed first."""
    async with app.connection() as connection:
        if not await has_pgvector(connection):
            return Outcome.NO_PGVECTOR
        state = await _state(connection, generation)
        if state is not None and state.valid:
            return Outcome.THERE
        if state is not None and state.being_built:
            return Outcome.UNDER_WAY
        if not await connection.fetchval(generation.query(_sql.worth_it), WORTH_CHUNKS):
            return Outcome.TOO_SMALL
        await _analyze(connection, generation)
        try:
            return await _build(app, connection, generation, leftover=state is not None)
        finally:
            with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await connection.execute(_sql.restore)


async def analyze(app: Penstock, generation: Generation) -> None:
    async with app.connection() as connection:
        await _analyze(connection, generation)
        await connection.execute(_sql.analyze_indexed, timeout=LONGEST_SECONDS)


async def has_pgvector(connection: Connection) -> bool:
    """Whether the type is there; creates the extension where this role may."""
    if await connection.fetchval(_sql.has_vectors):
        return True
    if not await connection.fetchval(_sql.may_create_extension):
        return False
    # Another process may be doing the same, and some hosts refuse it for reasons of their own.
    with suppress(asyncpg.PostgresError):
        await connection.execute(_sql.create_extension)
    return bool(await connection.fetchval(_sql.has_vectors))


async def _build(app: Penstock, connection: Connection, generation: Generation, *, leftover: bool) -> Outcome:
    rows = await connection.fetchval(generation.query(_sql.size))
    memory = f"{memory_mb(rows, generation.dimensions)}MB"
    # Parallel builds need shared memory, of which containers often have little; then it goes without.
    for workers in ("2", "0"):
        if leftover:
            await connection.execute(generation.query(_sql.drop), timeout=LONGEST_SECONDS)
        if app.settings.statement_cache:  # behind PgBouncer a setting would stay with somebody else's connection
            await connection.execute(_sql.prepare, memory, workers)
        try:
            await connection.execute(generation.query(_sql.create), timeout=LONGEST_SECONDS)
            return Outcome.BUILT
        except asyncpg.DuplicateTableError:
            return Outcome.UNDER_WAY
        except (asyncpg.InsufficientResourcesError, asyncpg.DiskFullError):
            if workers == "0":
                raise
            leftover = True
    raise AssertionError("the loop returns or raises")


async def _analyze(connection: Connection, generation: Generation) -> None:
    await connection.execute(generation.query(_sql.analyze), timeout=LONGEST_SECONDS)


async def _state(connection: Connection, generation: Generation) -> _State | None:
    """None: there is no index."""
    row = await connection.fetchrow(generation.query(_sql.state))
    return None if row is None else _State(**row)


async def _bulk_runs(connection: Connection, generation: Generation) -> bool:
    """Loading first and indexing afterwards is several times as fast as the other way round."""
    for job in await reindexing.unfinished(connection):
        fills_it = not job.wanted or job.wanted.get("generation") == generation.id
        if fills_it and not job.paused and job.present >= _BULK_TASKS:
            return True
    return False


def memory_mb(rows: int, dimensions: int) -> int:
    """So much that the graph of all rows fits, within bounds."""
    needed = rows * (dimensions * 4 + _BYTES_PER_LINK_LIST) * 1.2 / 2**20
    return int(min(max(needed, _LEAST_MEMORY_MB), _MOST_MEMORY_MB))
