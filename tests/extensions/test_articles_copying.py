"""Vectors reach their table as they were made, in the server's own binary form."""

from typing import Any

import numpy as np

from penstock.extensions.articles.chunking import Chunker
from penstock.extensions.articles.indexing import storing


async def test_vectors_and_places_are_stored_bit_by_bit(connection: Any) -> None:
    random = np.random.default_rng(1)
    chunks = Chunker(size=100, overlap=0).cut("Pumps", "A pump moves water. " * 30)
    assert len(chunks) > 3
    first = random.standard_normal((len(chunks), 256)).astype(np.float32)
    first[0, :3] = (-0.0, np.float32(1e-38), -1.5)
    title = Chunker().cut("Only a title", "")
    second = random.standard_normal((1, 256)).astype(np.float32)
    parts = [storing.copy_rows(7, 3, chunks, first), storing.copy_rows(2**40, 1, title, second)]
    await connection.copy_to_table(
        "vectors_1",
        schema_name="article_search",
        columns=storing.COLUMNS,
        source=storing.stream(parts),
        format="binary",
    )
    stored = await connection.fetch("select * from article_search.vectors_1 order by article_id, ordinal")
    assert [row["ordinal"] for row in stored] == [*range(len(chunks)), 0]
    assert [(row["article_id"], row["revision"]) for row in stored] == [*[(7, 3)] * len(chunks), (2**40, 1)]
    assert [(row["starts"], row["ends"], row["digest"]) for row in stored] == [
        (one.starts, one.ends, one.digest) for one in [*chunks, *title]
    ]
    vectors = np.array([row["embedding"] for row in stored], dtype=np.float32)
    assert vectors.tobytes() == np.concatenate([first, second]).tobytes()
