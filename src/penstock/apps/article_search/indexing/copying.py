"""Vectors as COPY takes them, made by numpy: number by number in Python they would cost as much as the embedding."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from penstock.apps.article_search.chunking import Chunk
from penstock.apps.article_search.embedders.embedder import Vectors

COLUMNS = ("article_id", "ordinal", "revision", "starts", "ends", "digest", "embedding")
_BEGIN = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"
_REAL_OID = 700
# Of an array: dimensions, whether nulls are in it, type, length, first index.
_ARRAY_HEADER_BYTES, _ELEMENT_BYTES = 20, 8
_INTEGERS = ("ordinal", "revision", "starts", "ends")


def rows(article_id: int, revision: int, chunks: Sequence[Chunk], vectors: Vectors) -> bytes:
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
