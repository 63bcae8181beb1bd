"""Puts what is asked for at one time into one batch.

No timer: while a batch is under way, what comes waits for the next one. So a lonely order goes at once, and many go
together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from penstock.extensions.articles.indexing.order import Order, Outcome

Work = Callable[[Sequence[Order]], Coroutine[Any, Any, Sequence[Outcome | BaseException]]]
# Handlers that were claimed together are started one after the other; this long the first waits for the others.
_GATHER_SECONDS = 0.002


class Batcher:
    """``work`` answers every order of a batch with an outcome, or the error that stands for it."""

    def __init__(self, work: Work, *, most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[Order, asyncio.Future[Outcome]]] = deque()
        self._running: asyncio.Task[None] | None = None
        # The batch that is under way, and who waits for it.
        self._working: asyncio.Future[Sequence[Outcome | BaseException]] | None = None
        self._waited_for: list[asyncio.Future[Outcome]] = []

    async def submit(self, order: Order) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, future))
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())
        try:
            return await future
        finally:
            self._leave_alone()

    def _leave_alone(self) -> None:
        """A batch that nobody waits for any more must not hold up the next one."""
        if self._working is not None and all(future.done() for future in self._waited_for):
            self._working.cancel()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        if self._most > 1:
            await asyncio.sleep(_GATHER_SECONDS)
        while self._waiting:
            batch: list[tuple[Order, asyncio.Future[Outcome]]] = []
            while self._waiting and len(batch) < self._most:
                order, future = self._waiting.popleft()
                if not future.done():  # its handler gave up meanwhile
                    batch.append((order, future))
            if batch:
                await self._carry_out(batch)

    async def _carry_out(self, batch: list[tuple[Order, asyncio.Future[Outcome]]]) -> None:
        self._waited_for = [future for _, future in batch]
        working = asyncio.get_running_loop().create_task(self._work([order for order, _ in batch]))
        self._working = working
        try:
            outcomes: Sequence[Outcome | BaseException] = await working
        except asyncio.CancelledError:
            if all(future.done() for future in self._waited_for):
                return  # given up by everybody: the next batch
            working.cancel()
            _answer(batch, [RuntimeError("The embedding was interrupted.")] * len(batch))
            raise
        except Exception as error:
            outcomes = [error] * len(batch)
        finally:
            self._working = None
        _answer(batch, outcomes)


def _answer(batch: list[tuple[Order, asyncio.Future[Outcome]]], outcomes: Sequence[Outcome | BaseException]) -> None:
    for (_, future), outcome in zip(batch, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
