"""Texts to embed and vectors to keep. One function per query of ``sql/vectors.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from penstock.apps.article_search.chunking import Chunk
from penstock.apps.article_search.embedders.embedder import Vectors
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.indexing import copying
from penstock.storage.queries import load

_sql = load("vectors", "penstock.apps.article_search")
Connection = Any
# A PostgreSQL array on the wire: five numbers, then each element behind its length.
_HEADER_BYTES = 20
_ELEMENT = np.dtype([("length", ">i4"), ("value", ">f4")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The current text of an article, as it was at ``read_at``. ``unwanted``: it was saved without the wish to
    embed it. ``indexed_revision`` None: nothing of it is indexed."""

    id: int
    revision: int
    unwanted: bool
    title: str
    content: str
    digest: bytes
    saved_at: datetime
    indexed_revision: int | None
    indexed_digest: bytes | None
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An article with its chunks and their vectors. ``measured``: it follows a save, so that its wait tells how fresh
    the index is."""

    wanted: Wanted
    chunks: Sequence[Chunk]
    vectors: Vectors
    measured: bool


async def wanted(connection: Connection, article_ids: Sequence[int], generation: int) -> dict[int, Wanted]:
    return {row["id"]: Wanted(**row) for row in await connection.fetch(_sql.wanted, article_ids, generation)}


async def kept(
    connection: Connection, generation: Generation, article_ids: Sequence[int]
) -> dict[int, dict[bytes, Vectors]]:
    """article → digest of a chunk → its vector."""
    found: dict[int, dict[bytes, Vectors]] = {}
    for row in await connection.fetch(generation.query(_sql.kept), article_ids):
        found.setdefault(row["article_id"], {})[row["digest"]] = vector_of(row["embedding"])
    return found


async def store(connection: Connection, generation: Generation, prepared: Sequence[Prepared]) -> set[int]:
    """The articles that were stored; the others were deleted meanwhile, or have a newer revision indexed."""
    columns = (
        [one.wanted.id for one in prepared],
        [one.wanted.revision for one in prepared],
        [one.wanted.digest for one in prepared],
        [len(one.chunks) for one in prepared],
        [one.wanted.saved_at for one in prepared],
        [one.measured for one in prepared],
    )
    async with connection.transaction():
        rows = await connection.fetch(_sql.accept, columns[0], generation.id, *columns[1:])
        accepted = {row["article_id"] for row in rows}
        # Always: somebody else may have stored vectors of these since we read what there was.
        await connection.execute(generation.query(_sql.forget_vectors), sorted(accepted))
        if parts := [_rows(one) for one in prepared if one.wanted.id in accepted and one.chunks]:
            await connection.copy_to_table(
                f"vectors_{generation.id}",
                schema_name="article_search",
                columns=copying.COLUMNS,
                source=copying.stream(parts),
                format="binary",
            )
    return accepted


async def unchanged(connection: Connection, generation: Generation, same: Sequence[Wanted]) -> set[int]:
    """Those whose vectors still stand for their text; what is missing has to be embedded after all."""
    columns = ([one.id for one in same], [one.revision for one in same], [one.digest for one in same])
    rows = await connection.fetch(_sql.unchanged, columns[0], generation.id, *columns[1:])
    return {row["article_id"] for row in rows}


async def remove(connection: Connection, generations: Sequence[Generation], article_ids: Sequence[int]) -> int:
    """Everything that is indexed of articles that are gone; those that are there are left alone."""
    async with connection.transaction():
        gone = [row["id"] for row in await connection.fetch(_sql.gone, article_ids)]
        for generation in generations:
            await connection.execute(generation.query(_sql.forget_vectors), gone)
        await connection.execute(_sql.bury, gone)
    return len(gone)


def vector_of(sent: bytes) -> Vectors:
    """What array_send gave, as numbers."""
    elements = np.frombuffer(sent, dtype=_ELEMENT, offset=_HEADER_BYTES)
    return elements["value"].astype(np.float32)


def _rows(one: Prepared) -> bytes:
    return copying.rows(one.wanted.id, one.wanted.revision, one.chunks, one.vectors)
