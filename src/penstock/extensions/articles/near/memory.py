"""The active generation in the memory of a process that answers many searches, beside the server's own index.

Comparing everything takes a few milliseconds up to some hundred thousand passages; walking an index that misses as
little takes several times as long. The server answers wherever this cannot: until the vectors are there, where they do
not fit, and while much has changed.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog

from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.near.exact import Exact
from penstock.extensions.articles.near.filter import Filter
from penstock.extensions.articles.near.passage import Passage
from penstock.extensions.articles.near.rows import size_bytes
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any
Opened = Callable[[], AbstractAsyncContextManager[Connection]]

# After a load that failed or did not fit: counting what there is costs little, but not nothing.
_AGAIN_SECONDS = 60.0
_MEGABYTE = 2**20


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
                if not await self._fits(connection, generation):
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

    async def _fits(self, connection: Connection, generation: Generation) -> bool:
        needed = size_bytes(await connection.fetchval(_sql.passages, generation.id), generation.dimensions)
        if needed > self._most_bytes:
            self._give_up(generation, f"they need {needed / _MEGABYTE:.0f} MB")
        return needed <= self._most_bytes

    def _give_up(self, generation: Generation, why: str) -> None:
        """The memory is free again at once; the next try comes later."""
        self._exact, self._not_before = None, time.monotonic() + _AGAIN_SECONDS
        most_mb = self._most_bytes // _MEGABYTE
        self._log.warning("articles.not_in_memory", generation=generation.name, why=why, most_mb=most_mb)
