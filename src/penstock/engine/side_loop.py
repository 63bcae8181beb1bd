"""For code without an event loop: a loop in a thread of its own, with an application and connections of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

Value = TypeVar("Value")


class SideLoop:
    """Started by the first call. After ``close`` the next call starts it anew."""

    def __init__(self, make: "Callable[[], Penstock]") -> None:
        self._make = make
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: Penstock | None = None
        self._thread: threading.Thread | None = None

    def call(self, work: "Callable[[Penstock], Coroutine[Any, Any, Value]]") -> Value:
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
