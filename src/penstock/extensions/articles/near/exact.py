"""Nearest passages by numpy: every vector of a generation in memory.

Each search first reads what changed since the last one, so that an embedding that has ended is found at once. Comparing
everything takes a few milliseconds up to some hundred thousand passages; walking an index that misses as little takes
several times as long. So a process that answers many searches keeps the active generation in memory beside the server's
own index. The server answers wherever that cannot: until the vectors are there, where they do not fit, and while much
has changed.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import groupby
from typing import Any

import structlog

from penstock.extensions.articles.embedders.embedder import Vectors, received
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.near.filter import Filter, Passage, admitted, among
from penstock.extensions.articles.near.rows import Rows, size_bytes
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any
Opened = Callable[[], AbstractAsyncContextManager[Connection]]

# Passages that are read with one statement, and taken over in some ten milliseconds, during which nothing else runs.
_BATCH = 1000
_BATCHES_PER_LINE = 20
# What one search may wait for: some twenty milliseconds.
_MOST_ARTICLES, _MOST_PASSAGES = 200, 1000
_PER_ARTICLE = 4
# After a load that failed or did not fit: counting what there is costs little, but not nothing.
_AGAIN_SECONDS = 60.0
_MEGABYTE = 2**20


class Exact:
    """Of one generation. Searches compare beside each other; one at a time reads what changed."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._rows = Rows(generation.dimensions)
        self._snapshot: str | None = None
        self._refreshing = asyncio.Lock()
        self._gate = Gate()
        self._log = structlog.get_logger("penstock.articles")

    @property
    def size_bytes(self) -> int:
        return self._rows.size_bytes

    async def nearest(self, connection: Connection, vector: Vectors, *, wanted: Filter, limit: int) -> list[Passage]:
        """Reads whatever changed, however long it takes: where nobody else can answer."""
        await self.refresh(connection)
        return await self.compare(connection, vector, wanted=wanted, limit=limit)

    async def compare(self, connection: Connection, vector: Vectors, *, wanted: Filter, limit: int) -> list[Passage]:
        """Among what was there at the last refresh. Who may see it, and what is deleted, is asked now.

        The nearest of all are looked at first. Only where too few of them may be shown, the others are named.
        """
        only, count = None, limit * _PER_ARTICLE
        while True:
            async with self._gate.reading():
                near, complete = await asyncio.to_thread(self._rows.nearest, vector, count, only)
            left = await among(connection, wanted, [one.article_id for one in near])
            found = [one for one in near if one.article_id in left][:limit]
            if len(found) == limit or complete:
                return found
            if only is None and not wanted.open:
                only = await admitted(connection, wanted)
            else:
                count *= 4

    async def refresh(self, connection: Connection, *, bounded: bool = False) -> bool:
        """False: ``bounded``, and more has changed than a search should wait for; then nothing was read.

        What commits after the snapshot is not in it, so that it is read by the next refresh.
        """
        async with self._refreshing:
            news, snapshot = await self._changed(connection, _MOST_ARTICLES + 1 if bounded else None)
            if bounded and (len(news) > _MOST_ARTICLES or sum(row["chunks"] for row in news) > _MOST_PASSAGES):
                return False
            read = 0
            for number, batch in enumerate(_batches(news), start=1):
                await self._read(connection, batch)
                read += len(batch)
                if number % _BATCHES_PER_LINE == 0 or (read == len(news) and number > 1):
                    name, passages = self.generation.name, len(self._rows)
                    self._log.info("articles.loading", generation=name, read=read, total=len(news), passages=passages)
            self._snapshot = snapshot
            return True

    async def _changed(self, connection: Connection, most: int | None) -> tuple[list[Mapping[str, Any]], str]:
        """What is to be read, and what the server saw then. Everything at first, and after the server has gone back to
        an earlier state (a backup, another machine), which may differ anywhere."""
        if self._snapshot is not None:
            rows = await connection.fetch(_sql.changed, self.generation.id, self._snapshot, most)
            if not rows[0]["went_back"]:
                return [row for row in rows if row["article_id"] is not None], rows[0]["snapshot"]
            async with self._gate.writing():
                self._rows, self._snapshot = Rows(self.generation.dimensions), None
        rows = await connection.fetch(_sql.everything, self.generation.id, most)
        return [row for row in rows if row["article_id"] is not None], rows[0]["snapshot"]

    async def _read(self, connection: Connection, ids: Sequence[int]) -> None:
        rows = await connection.fetch(self.generation.query(_sql.vectors_of), ids)
        rows.sort(key=lambda row: (row["article_id"], row["ordinal"]))
        vectors = received([row["sent"] for row in rows], self.generation.dimensions)
        places = [(row["article_id"], row["ordinal"], row["revision"], row["starts"], row["ends"]) for row in rows]
        async with self._gate.writing():
            for article_id in set(ids) - {place[0] for place in places}:
                self._rows.drop(article_id)
            start = 0
            for article_id, group in groupby(places, key=lambda place: int(place[0])):
                own = list(group)
                self._rows.put(article_id, own, vectors[start : start + len(own)])
                start += len(own)


def _batches(news: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Articles with about so many passages together: one may have thousands."""
    batch: list[int] = []
    passages = 0
    for row in news:
        batch.append(row["article_id"])
        passages += row["chunks"] or 1
        if passages >= _BATCH:
            yield batch
            batch, passages = [], 0
    if batch:
        yield batch


class Gate:
    """Many compare at one time, in threads; a change waits until they are through, and later ones wait for it.

    Whoever writes sees to it that nobody else does. Leaving waits for nothing, so that a search that is cancelled
    leaves too.
    """

    def __init__(self) -> None:
        self._readers = 0
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._idle.set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        while not self._open.is_set():
            await self._open.wait()
        self._readers += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._idle.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        self._open.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._open.set()


class Memory:
    def __init__(self, opened: Opened, most_mb: int) -> None:
        self._opened = opened
        self._most_bytes = most_mb * _MEGABYTE
        self._exact: Exact | None = None
        self._loading: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._log = structlog.get_logger("penstock.articles")

    def holds(self, generation: Generation) -> bool:
        """Whether its vectors are there, and nothing reads many of them again."""
        return self._exact is not None and self._exact.generation.id == generation.id and self._loading is None

    async def nearest(
        self, connection: Connection, generation: Generation, vector: Vectors, *, wanted: Filter, limit: int
    ) -> list[Passage] | None:
        """None: somebody else has to answer."""
        exact = self._exact
        if exact is None or not self.holds(generation):
            return None
        if not await exact.refresh(connection, bounded=True):
            self.load(generation)
            return None
        if exact.size_bytes > self._most_bytes:
            self._give_up(generation, f"they have grown to {exact.size_bytes / _MEGABYTE:.0f} MB")
            return None
        return await exact.compare(connection, vector, wanted=wanted, limit=limit)

    def load(self, generation: Generation) -> None:
        """In the background: everything, or what changed since. One at a time, and the active one only."""
        if generation.state is GenerationState.ACTIVE and self._loading is None and time.monotonic() > self._not_before:
            self._loading = asyncio.create_task(self._load(generation))

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        self._exact = None

    async def _load(self, generation: Generation) -> None:
        began = time.monotonic()
        try:
            async with self._opened() as connection:
                passages = await connection.fetchval(_sql.passages, generation.id)
                if (needed := size_bytes(passages, generation.dimensions)) > self._most_bytes:
                    self._give_up(generation, f"they need {needed / _MEGABYTE:.0f} MB")
                    return
                if self._exact is None or self._exact.generation.id != generation.id:
                    self._exact = Exact(generation)
                await self._exact.refresh(connection)
            mb, seconds = self._exact.size_bytes / _MEGABYTE, time.monotonic() - began
            self._log.info("articles.loaded", generation=generation.name, mb=round(mb), seconds=round(seconds, 2))
        except Exception as error:
            self._give_up(generation, repr(error))
        finally:
            self._loading = None

    def _give_up(self, generation: Generation, why: str) -> None:
        """The memory is free again at once; the next try comes later."""
        self._exact, self._not_before = None, time.monotonic() + _AGAIN_SECONDS
        most_mb = self._most_bytes // _MEGABYTE
        self._log.warning("articles.not_in_memory", generation=generation.name, why=why, most_mb=most_mb)
