"""Asking a database that may be away for a while, for those who wait for a task or a job, and telling of links that are
lost and back.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from penstock.errors import DatabaseLoginRefused, DatabaseMissing
from penstock.events import Events
from penstock.storage.database import passing
from penstock.storage.dialer import address

# At least so long for an answer, also when the time of whoever waits is over: a question may need a new connection.
ANSWER_SECONDS = 2.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
Answer = TypeVar("Answer")


class LinkWatch:
    """One per link and the loop that owns it. ``works`` may be called after every answer: it costs one look."""

    __slots__ = ("_events", "_link", "_lost")

    def __init__(self, events: Events, link: str) -> None:
        self._events = events
        self._link = link
        self._lost = False

    def lost(self, error: BaseException) -> None:
        self._lost = True
        self._events.emit("database.lost", link=self._link, error=str(error) or type(error).__name__)

    def works(self) -> None:
        """The server answered over this link."""
        if self._lost:
            self._lost = False
            self._events.emit("database.back", link=self._link)


class NoAnswerInTime(Exception):
    """The time of whoever waits is over, and the database has not answered. The text says which and why."""


class Outage:
    """One for each loop that asks. ``problem``: why the last question had no answer, None if it had one."""

    def __init__(self, events: Events, link: str, url: str) -> None:
        self._watch = LinkWatch(events, link)
        self._where = address(url)
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self.problem: str | None = None

    def answered(self) -> None:
        self.problem, self._pause_seconds = None, _FIRST_PAUSE_SECONDS
        self._watch.works()

    def failed(self, error: Exception) -> float:
        """How long to pause before the next question. Raises what no restart heals."""
        if not passing(error) or isinstance(error, DatabaseLoginRefused | DatabaseMissing):
            raise error
        self.problem = str(error) or type(error).__name__
        self._watch.lost(error)
        pause, self._pause_seconds = self._pause_seconds, min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
        return pause

    async def ask(self, question: Callable[[], Coroutine[Any, Any, Answer]], until: float | None) -> Answer:
        """Until there is an answer, or ``until`` on the monotonic clock: then :class:`NoAnswerInTime`."""
        while True:
            try:
                answer = await self._once(question, until)
            except NoAnswerInTime:
                raise
            except Exception as error:
                pause = self.failed(error)
            else:
                self.answered()
                return answer
            left = pause if until is None else until - time.monotonic()
            if left <= 0:
                raise NoAnswerInTime(self.problem)
            await asyncio.sleep(min(pause, left))

    async def _once(self, question: Callable[[], Coroutine[Any, Any, Answer]], until: float | None) -> Answer:
        """On a silent line the driver does not let go of a statement that is cancelled, so it is left to itself."""
        if until is None:
            return await question()
        asking = asyncio.get_running_loop().create_task(question())
        asking.add_done_callback(_seen)
        try:
            done, _ = await asyncio.wait({asking}, timeout=max(until - time.monotonic(), ANSWER_SECONDS))
        finally:
            asking.cancel()
        if not done:
            raise NoAnswerInTime(self.problem or f"The database at {self._where} does not answer.")
        return asking.result()


def _seen(asking: "asyncio.Task[Any]") -> None:
    if not asking.cancelled():
        asking.exception()
