"""Texts to embed and vectors to keep. One function per query of ``sql/vectors.sql``.

Vectors go to COPY as numpy makes them: number by number in Python they would cost as much as the embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from typing import Any

import numpy as np

from penstock.extensions.articles.chunking import Chunk
from penstock.extensions.articles.embedders.embedder import Vectors, received
from penstock.extensions.articles.generations import Generation
from penstock.storage.queries import load

_sql = load("vectors", "penstock.extensions.articles")
Connection = Any
COLUMNS = ("article_id", "ordinal", "revision", "starts", "ends", "digest", "embedding")
_BEGIN = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"
_REAL_OID = 700
# Of an array: dimensions, whether nulls are in it, type, length, first index.
_ARRAY_HEADER_BYTES, _ELEMENT_BYTES = 20, 8
_INTEGERS = ("ordinal", "revision", "starts", "ends")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentText:
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


@dataclass(slots=True, kw_only=True)
class ArticleInWork:
    """An article on its way: ``known`` has the vectors that are there already, ``made`` those that came. ``measured``:
    it follows a save, so that its wait tells how fresh the index is."""

    wanted: CurrentText
    chunks: Sequence[Chunk]
    known: Sequence[Vectors | None]
    measured: bool = False
    made: Vectors | None = None
    error: BaseException | None = None
    texts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = [chunk.text for chunk, vector in zip(self.chunks, self.known, strict=True) if vector is None]

    @property
    def vectors(self) -> Vectors:
        """One per chunk, once all of them are there."""
        made = iter(() if self.made is None else self.made)
        return np.stack([next(made) if vector is None else vector for vector in self.known])


async def wanted(connection: Connection, article_ids: Sequence[int], generation: int) -> dict[int, CurrentText]:
    return {row["id"]: CurrentText(**row) for row in await connection.fetch(_sql.wanted, article_ids, generation)}


async def kept(
    connection: Connection, generation: Generation, article_ids: Sequence[int]
) -> dict[int, dict[bytes, Vectors]]:
    """article → digest of a chunk → its vector."""
    rows = await connection.fetch(generation.query(_sql.kept), article_ids)
    vectors = received([row["embedding"] for row in rows], generation.dimensions)
    found: dict[int, dict[bytes, Vectors]] = {}
    for row, vector in zip(rows, vectors, strict=True):
        found.setdefault(row["article_id"], {})[row["digest"]] = vector
    return found


async def store(connection: Connection, generation: Generation, prepared: Sequence[ArticleInWork]) -> set[int]:
    """The articles that were stored; the others were deleted meanwhile, or have a newer revision indexed."""
    texts = [one.wanted for one in prepared]
    ids, revisions, digests, saved_at = (
        [getattr(text, name) for text in texts] for name in ("id", "revision", "digest", "saved_at")
    )
    chunks, measured = [len(one.chunks) for one in prepared], [one.measured for one in prepared]
    async with connection.transaction():
        rows = await connection.fetch(_sql.accept, ids, generation.id, revisions, digests, chunks, saved_at, measured)
        accepted = {row["article_id"] for row in rows}
        # Always: somebody else may have stored vectors of these since we read what there was.
        await connection.execute(generation.query(_sql.forget_vectors), sorted(accepted))
        if parts := [
            copy_rows(one.wanted.id, one.wanted.revision, one.chunks, one.vectors)
            for one in prepared
            if one.wanted.id in accepted and one.chunks
        ]:
            await connection.copy_to_table(
                f"vectors_{generation.id}",
                schema_name="article_search",
                columns=COLUMNS,
                source=stream(parts),
                format="binary",
            )
    return accepted


async def unchanged(connection: Connection, generation: Generation, same: Sequence[CurrentText]) -> set[int]:
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


def copy_rows(article_id: int, revision: int, chunks: Sequence[Chunk], vectors: Vectors) -> bytes:
    """One article's, without the beginning and the end of the stream."""
    layout = _layout(vectors.shape[1], len(chunks[0].digest))
    made = np.zeros(len(chunks), dtype=layout)
    made["fields"] = len(COLUMNS)
    for name in COLUMNS:
        # Each value stands behind its length in bytes.
        made[f"{name}_bytes"] = layout[name].itemsize
    made["embedding_bytes"] = _ARRAY_HEADER_BYTES + _ELEMENT_BYTES * vectors.shape[1]
    made["article_id"], made["revision"] = article_id, revision
    made["ordinal"] = np.arange(len(chunks))
    made["starts"] = [chunk.starts for chunk in chunks]
    made["ends"] = [chunk.ends for chunk in chunks]
    made["digest"] = np.frombuffer(b"".join(chunk.digest for chunk in chunks), dtype=layout["digest"])
    made["header"] = (1, 0, _REAL_OID, vectors.shape[1], 1)
    made["embedding"]["bytes"] = vectors.itemsize
    made["embedding"]["value"] = vectors
    return made.tobytes()


def stream(parts: Sequence[bytes]) -> BytesIO:
    return BytesIO(b"".join((_BEGIN, *parts, _END)))


def _layout(dimensions: int, digest_bytes: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("fields", ">i2"),
            ("article_id_bytes", ">i4"),
            ("article_id", ">i8"),
            *[column for name in _INTEGERS for column in ((f"{name}_bytes", ">i4"), (name, ">i4"))],
            ("digest_bytes", ">i4"),
            ("digest", f"V{digest_bytes}"),
            ("embedding_bytes", ">i4"),
            ("header", ">i4", (5,)),
            ("embedding", [("bytes", ">i4"), ("value", ">f4")], (dimensions,)),
        ]
    )
