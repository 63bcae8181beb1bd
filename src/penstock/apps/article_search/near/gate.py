"""Who reads and who writes what a process keeps in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


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
