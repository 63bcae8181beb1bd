"""Generations of the index. One function per query of ``sql/generations.sql``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from penstock import Penstock
from penstock.errors import IllegalMove, NotKnown
from penstock.extensions.articles.shared import WireRecord
from penstock.storage.queries import load

_sql = load("generations", "penstock.extensions.articles")
Connection = Any


# HNSW takes vectors of 4-byte numbers up to here, of 2-byte numbers up to twice that.
_MOST_WHOLE = 2000


class GenerationState(StrEnum):
    BUILDING = "building"
    READY = "ready"
    ACTIVE = "active"
    STANDBY = "standby"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation(WireRecord):
    """`standby`: was active, is kept up to date, and can be switched back to. `note`: what it waits for, or why it
    cannot go on."""

    id: int
    name: str
    embedder: str
    model: str
    dimensions: int
    chunker: str
    state: GenerationState
    job_id: int | None
    note: str | None
    created_by: str
    created_at: datetime
    ready_at: datetime | None
    activated_at: datetime | None

    def query(self, text: str) -> str:
        """A query that is written for the table ``vectors_0`` and the type ``vector(0)``, for this generation.

        Neither can exist, so that a query which was not made one of a generation fails instead of meeting the first.
        Long vectors are indexed as numbers of two bytes: another type, with an operator class of its own.
        """
        kind = "vector" if self.dimensions <= _MOST_WHOLE else "halfvec"
        text = text.replace("vectors_0", f"vectors_{self.id}").replace("vector_ip_ops", f"{kind}_ip_ops")
        return text.replace("vector(0)", f"{kind}({self.dimensions})")


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


async def require(connection: Connection, generation_id: int) -> Generation:
    found = await get(connection, generation_id)
    if found is None:
        known = [str(one.id) for one in await live(connection)]
        raise NotKnown(kind="generation", name=str(generation_id), known=known)
    return found


async def require_kept(connection: Connection, generation_id: int, *, move: str, next_step: str) -> Generation:
    """For a move that needs its vectors: one that was dropped is refused."""
    found = await require(connection, generation_id)
    if found.state is GenerationState.DROPPED:
        kept = tuple(state for state in GenerationState if state is not GenerationState.DROPPED)
        raise refused(move, found, kept, next_step)
    return found


def refused(move: str, found: Generation, allowed: tuple[GenerationState, ...], next_step: str) -> IllegalMove:
    return IllegalMove(
        move=move,
        subject=f"generation {found.name!r}",
        state=found.state.value,
        allowed_from=tuple(state.value for state in allowed),
        next_step=next_step,
    )


async def by_name(connection: Connection, name: str) -> Generation | None:
    row = await connection.fetchrow(_sql.by_name, name)
    return None if row is None else _generation(row)


async def named(connection: Connection, wanted: str | None) -> Generation:
    """By its name or its id; without one, the active one."""
    if wanted is None:
        return await active(connection)
    found = await by_name(connection, wanted)
    if found is None and wanted.isascii() and wanted.isdigit() and int(wanted) < 2**31:
        found = await get(connection, int(wanted))
    if found is None:
        known = [one.name for one in await live(connection)]
        raise NotKnown(kind="generation", name=wanted, known=known)
    return found


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


def emit_move(app: Penstock, generation: Generation, move: str, **more: Any) -> None:
    app.events.emit(
        "articles.generation",
        move=f"{move}-generation",
        generation=generation.id,
        called=generation.name,
        state=generation.state.value,
        **more,
    )


async def in_batches(app: Penstock, query: str, *values: Any, most: int) -> int:
    """Rows that ``query`` deletes, ``most`` at a time: a million in one statement would hold back vacuum."""
    gone = 0
    while True:
        async with app.connection() as connection:
            count = int((await connection.execute(query, *values, most)).rpartition(" ")[2])
        gone += count
        if count < most:
            return gone
