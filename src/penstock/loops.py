"""The event loops of an application: what it holds in the one it is used in, and one of its own for code without."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

from penstock.brokers.budgets import CountedInRedis
from penstock.core.app import App
from penstock.core.handles import Waiter
from penstock.errors import UsageError
from penstock.storage import database, tasks

_HINT_EVERY_SECONDS = 0.01

Value = TypeVar("Value")


class LoopState:
    """Made in its loop, closed in it or forgotten with it. ``after_unclosed``: the loop before ended without ``close``,
    so what that leaves alone is still to be closed."""

    def __init__(self, app: App, loop: asyncio.AbstractEventLoop, *, after_unclosed: bool) -> None:
        self._app = app
        self.loop = loop
        self.after_unclosed = after_unclosed
        self.opening = asyncio.Lock()
        self.pool: database.Pool | None = None
        self.waiter = Waiter(app)
        self.counted_in_redis = CountedInRedis(app)
        self._hinted: dict[str, float] = {}
        self._owed: set[str] = set()
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

    def hint_due(self, pipeline: str) -> bool:
        """Whether this enqueue should carry the wake-up itself. At most one NOTIFY per pipeline and ten milliseconds,
        the last one never lost: it takes a lock at commit that all notifying transactions share, so one per task would
        be the bottleneck."""
        now = time.monotonic()
        if now - self._hinted.get(pipeline, 0.0) >= _HINT_EVERY_SECONDS:
            self._hinted[pipeline] = now
            return True
        if pipeline not in self._owed:
            self._owed.add(pipeline)
            task = self.loop.create_task(self._hint_later(pipeline))
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        return False

    async def _hint_later(self, pipeline: str) -> None:
        await asyncio.sleep(_HINT_EVERY_SECONDS)
        self._owed.discard(pipeline)
        self._hinted[pipeline] = time.monotonic()
        with suppress(Exception):  # a hint; polling finds the task
            async with self._app.connection() as connection:
                await tasks.wake(connection, pipeline)


class SideLoop:
    """A loop in a thread of its own, with an application and connections of its own. Started by the first call; after
    ``close`` the next call starts it anew."""

    def __init__(self, make: Callable[[], App]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: App | None = None
        self._thread: threading.Thread | None = None

    def call(self, work: Callable[[App], Coroutine[Any, Any, Value]]) -> Value:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-enqueue", daemon=True)
                self._thread.start()
                self._app = self._make()
            assert self._app is not None
            asked = asyncio.run_coroutine_threadsafe(work(self._app), self._loop)
        try:
            return asked.result()
        except CancelledError:
            raise UsageError(
                "The application was closed while a task was being enqueued. Close it after the last `enqueue_sync`."
            ) from None

    def close(self) -> None:
        with self._lock:
            app, loop, thread = self._app, self._loop, self._thread
            self._app = self._loop = self._thread = None
        if app is None or loop is None or thread is None:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(app.close(), loop).result(5)
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _cancel_others() -> None:
    """Whoever waits for one of them learns of it; a loop that stops would leave them waiting for ever."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
