"""The nearest passages of a vector: from memory where a process keeps the vectors, by pgvector where the server has it,
by numpy otherwise; with the same answers, up to what an index misses."""

from typing import Any, NamedTuple

import asyncpg
import numpy as np

from penstock.extensions.articles.embedders.embedder import Vectors, received
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.near.exact import Exact, Memory, Opened
from penstock.extensions.articles.near.filter import DECIMALS, Filter, Passage, admitted, best_of_each
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any

# So many articles are compared exactly in a few milliseconds. An index that walks past everybody else's is slower,
# and may give up before it has met them.
_FEW = 500
# Passages that are read per article wanted, at first: long articles have many that are alike.
_PER_ARTICLE = 2
_MOST_PASSAGES = 4000
# Generations whose vectors are kept in memory: the active one, and one it is compared with.
_MOST_KEPT = 2
# Passages that stand for a whole article.
_MOST_FOR_MEAN = 200


class Ways(NamedTuple):
    """``compares``: the server has pgvector; ``walks``: and an index on this generation's vectors."""

    compares: bool
    walks: bool


class Near:
    """One per process. What the server can do is asked until it can do all of it: an extension or an index may come."""

    def __init__(self) -> None:
        self._ways: dict[int, Ways] = {}
        self._kept: dict[int, Exact] = {}
        self._memory: Memory | None = None

    def keep(self, opened: Opened, most_mb: int) -> None:
        """For a process that answers many searches: from now on the active generation is kept in memory if it fits.

        ``opened`` gives the connection by which it is read, in the background. Searches that come before are answered
        by the server.
        """
        if most_mb:
            self._memory = Memory(opened, most_mb)

    def holds(self, generation: Generation) -> bool:
        """Whether searches are answered from memory now."""
        return self._memory is not None and self._memory.holds(generation)

    async def warm(self, connection: Connection, generation: Generation) -> None:
        """Begins to read what is to be kept, if it is not there. Without pgvector the first search does that."""
        compares = (await self.ways(connection, generation)).compares
        if self._memory is not None and compares and not self._memory.holds(generation):
            self._memory.load(generation)

    async def nearest(
        self, connection: Connection, generation: Generation, vector: Vectors, *, wanted: Filter, limit: int
    ) -> list[Passage]:
        """At most one passage per article. Nothing for a vector of zeros: it is near to nothing.

        Raises ``asyncpg.UndefinedTableError`` when the generation has been dropped meanwhile.
        """
        if limit < 1 or not np.any(vector):
            return []
        if self._memory is not None:
            found = await self._memory.nearest(connection, generation, vector, wanted=wanted, limit=limit)
            if found is not None:
                return found
        ways = await self.ways(connection, generation)
        if ways.compares:
            await self.warm(connection, generation)
            try:
                return await _by_server(connection, generation, vector, wanted=wanted, limit=limit, walks=ways.walks)
            except (asyncpg.UndefinedObjectError, asyncpg.UndefinedFunctionError):
                self._ways.pop(generation.id, None)  # somebody dropped the extension
        exact = self._kept.pop(generation.id, None) or Exact(generation)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[generation.id] = exact
        return await exact.nearest(connection, vector, wanted=wanted, limit=limit)

    async def ways(self, connection: Connection, generation: Generation) -> Ways:
        known = self._ways.get(generation.id)
        if known is None or not all(known):
            known = Ways(*await connection.fetchrow(generation.query(_sql.ways)))
            self._ways[generation.id] = known
            if known.compares:
                self._kept.pop(generation.id, None)
        return known

    async def mean(self, connection: Connection, generation: Generation, article_id: int) -> Vectors | None:
        """What the article is about as a whole, of length 1; None: it has no vectors."""
        rows = await connection.fetch(generation.query(_sql.mean), article_id, _MOST_FOR_MEAN)
        if not rows:
            return None
        total = received([row["sent"] for row in rows], generation.dimensions).sum(axis=0)
        unit: Vectors = (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
        return unit

    async def close(self) -> None:
        self._kept.clear()
        if self._memory is not None:
            await self._memory.close()


async def _by_server(
    connection: Connection, generation: Generation, vector: Vectors, *, wanted: Filter, limit: int, walks: bool
) -> list[Passage]:
    """By the server itself. ``walks``: the generation has an index: then the answer may miss a few, otherwise it is
    exact."""
    numbers = vector.tolist()

    async def best(query: str, *values: Any) -> tuple[list[Passage], int]:
        """And how many passages were read."""
        rows = await connection.fetch(generation.query(query), *values)
        passages = (Passage(**{**row, "similarity": round(row["similarity"], DECIMALS)}) for row in rows)
        return best_of_each(passages, limit), len(rows)

    async def widening(query: str, enough: int) -> tuple[list[Passage], bool]:
        """Reads more passages while few articles have them all. True: it ended before there were enough articles."""
        most = min(limit * _PER_ARTICLE, _MOST_PASSAGES)
        while True:
            found, count = await best(query, *wanted.values, numbers, most)
            if len(found) >= enough or most >= _MOST_PASSAGES:
                return found, False
            if count < most:
                return found, True
            most = min(most * 4, _MOST_PASSAGES)

    async with connection.transaction():
        await connection.execute(_sql.settle)
        chosen = [] if wanted.open else await admitted(connection, wanted, _FEW + 1)
        if not wanted.open and len(chosen) <= _FEW:
            return (await best(_sql.by_articles, chosen, numbers, _MOST_PASSAGES))[0]
        if walks:
            # Half of them will do: a second walk along the index costs as much as the first.
            found, gave_up = await widening(_sql.by_index, (limit + 1) // 2)
            if not gave_up or wanted.open:
                return found
        return (await widening(_sql.by_scan, limit))[0]


__all__ = ["Filter", "Near", "Passage", "Ways"]
