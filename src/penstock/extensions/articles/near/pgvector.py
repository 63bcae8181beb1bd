"""Nearest passages by the server itself, with an index where there is one."""

from typing import Any

from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.near.filter import Filter, few
from penstock.extensions.articles.near.passage import DECIMALS, Passage, best_of_each
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any

# Passages that are read per article wanted, at first: long articles have many that are alike.
_PER_ARTICLE = 2
_MOST_PASSAGES = 4000


async def nearest(
    connection: Connection, generation: Generation, vector: Vectors, *, wanted: Filter, limit: int, walks: bool
) -> list[Passage]:
    """``walks``: the generation has an index. Then the answer may miss a few; otherwise it is exact."""
    numbers = vector.tolist()
    async with connection.transaction():
        await connection.execute(_sql.settle)
        chosen = await few(connection, wanted)
        if chosen is not None:
            rows = await connection.fetch(generation.query(_sql.by_articles), chosen, numbers, _MOST_PASSAGES)
            return best_of_each(map(_passage, rows), limit)
        if walks:
            # Half of them will do: a second walk along the index costs as much as the first.
            found, gave_up = await _widening(
                connection, generation, _sql.by_index, wanted, numbers, limit, enough=(limit + 1) // 2
            )
            if not gave_up or wanted.open:
                return found
        found, _ = await _widening(connection, generation, _sql.by_scan, wanted, numbers, limit, enough=limit)
        return found


async def _widening(
    connection: Connection,
    generation: Generation,
    query: str,
    wanted: Filter,
    numbers: list[float],
    limit: int,
    *,
    enough: int,
) -> tuple[list[Passage], bool]:
    """Reads more passages while few articles have them all. True: it ended before there were enough articles."""
    most = min(limit * _PER_ARTICLE, _MOST_PASSAGES)
    while True:
        rows = await connection.fetch(generation.query(query), *wanted.values, numbers, most)
        found = best_of_each(map(_passage, rows), limit)
        if len(found) >= enough or most >= _MOST_PASSAGES:
            return found, False
        if len(rows) < most:
            return found, True
        most = min(most * 4, _MOST_PASSAGES)


def _passage(row: Any) -> Passage:
    return Passage(**{**row, "similarity": round(row["similarity"], DECIMALS)})
