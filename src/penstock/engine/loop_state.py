"""What an application holds that belongs to one event loop: made in that loop, closed in it or forgotten with it."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.engine.counted_in_redis import CountedInRedis
from penstock.engine.enqueue import Hints
from penstock.engine.handles import Waiter
from penstock.storage import database, tasks

if TYPE_CHECKING:
    from penstock.engine.app import Penstock


class LoopState:
    """``after_unclosed``: the loop before ended without ``close``, so what that leaves alone is still to be closed."""

    def __init__(self, app: "Penstock", loop: asyncio.AbstractEventLoop, *, after_unclosed: bool) -> None:
        self._app = app
        self.loop = loop
        self.after_unclosed = after_unclosed
        self.opening = asyncio.Lock()
        self.pool: database.Pool | None = None
        self.waiter = Waiter(app)
        self.counted_in_redis = CountedInRedis(app)
        self.hints = Hints(self._hint_later)
        self._background: set[asyncio.Task[None]] = set()

    @property
    def in_use(self) -> bool:
        """Whether another loop would have to share it. A loop that is closed uses nothing any more."""
        return not self.loop.is_closed() and (self.pool is not None or self.opening.locked())

    async def close(self) -> None:
        await self.waiter.close()
        await self.counted_in_redis.close()
        if self._background:
            await asyncio.gather(*self._background, return_exceptions=True)
        pool, self.pool = self.pool, None
        if pool is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(pool.close(), 5)
            pool.terminate()

    def _hint_later(self, delay_seconds: float, pipeline: str) -> None:
        async def send() -> None:
            await asyncio.sleep(delay_seconds)
            self.hints.trailing_sent(pipeline)
            with suppress(Exception):  # a hint; polling finds the task
                async with self._app.connection() as connection:
                    await tasks.wake(connection, pipeline)

        task = self.loop.create_task(send())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
