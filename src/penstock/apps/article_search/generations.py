"""Generations of the index. One function per query of ``sql/generations.sql``."""

from collections.abc import Mapping
from typing import Any

from penstock.apps.article_search.generation import Generation, GenerationState
from penstock.errors import IllegalMove, NotKnown
from penstock.storage.queries import load

_sql = load("generations", "penstock.apps.article_search")
Connection = Any


async def active(connection: Connection) -> Generation:
    """There is always one: the migration makes the first, and only a switch moves it."""
    return _generation(await connection.fetchrow(_sql.active))


async def live(connection: Connection) -> list[Generation]:
    """Those that every save is embedded for; the active one first."""
    return [_generation(row) for row in await connection.fetch(_sql.live)]


async def listing(connection: Connection) -> list[Generation]:
    return [_generation(row) for row in await connection.fetch(_sql.listing)]


async def get(connection: Connection, generation_id: int) -> Generation | None:
    row = await connection.fetchrow(_sql.get, generation_id)
    return None if row is None else _generation(row)


async def require_kept(connection: Connection, generation_id: int, *, move: str, next_step: str) -> Generation:
    """For a move that needs its vectors: one that is unknown or was dropped is refused."""
    found = await get(connection, generation_id)
    if found is None:
        known = [str(one.id) for one in await live(connection)]
        raise NotKnown(kind="generation", name=str(generation_id), known=known)
    if found.state is GenerationState.DROPPED:
        raise IllegalMove(
            move=move,
            subject=f"generation {found.name!r}",
            state="dropped",
            allowed_from=("building", "ready", "active", "standby"),
            next_step=next_step,
        )
    return found


async def by_name(connection: Connection, name: str) -> Generation | None:
    row = await connection.fetchrow(_sql.by_name, name)
    return None if row is None else _generation(row)


async def insert(
    connection: Connection, *, name: str, embedder: str, model: str, dimensions: int, chunker: str, by: str
) -> Generation:
    """With the table of its vectors, in the caller's transaction."""
    row = await connection.fetchrow(_sql.insert, name, embedder, model, dimensions, chunker, by)
    made = _generation(row)
    await connection.execute(made.query(_sql.create_vectors))
    await connection.execute(made.query(_sql.index_vectors))
    return made


def _generation(row: Mapping[str, Any]) -> Generation:
    return Generation(**{**row, "state": GenerationState(row["state"])})
