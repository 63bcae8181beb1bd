"""Stops calling what does not answer, for the whole fleet, and tries it again with a single call.

Only for keys that were configured with one. While it is closed and nothing fails, no statement is made: settings and
state come with what ``known_limits`` reads anyway.
"""

from contextlib import suppress
from enum import Enum, auto
from typing import Any

from penstock.core.retry import ErrorClass, RetryPolicy, classify, http_status
from penstock.errors import ThrottledError
from penstock.events import Events
from penstock.limits.budgets import KnownLimits
from penstock.limits.permits import LimiterBusy
from penstock.storage import circuits
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.limits import KnownLimit

_POLICY = RetryPolicy()
_SERVER_ERRORS = range(500, 600)
_CLIENT_ERRORS = range(400, 500)


class Reply(Enum):
    """What a call says about the other side."""

    ANSWERED = auto()
    FAILED = auto()
    NOTHING = auto()


def judged(error: BaseException | None) -> Reply:
    """A refusal (4xx) is an answer. Whoever was interrupted, or sent away by a limiter, has learned nothing."""
    if error is None:
        return Reply.ANSWERED
    if isinstance(error, LimiterBusy) or not isinstance(error, Exception):
        return Reply.NOTHING
    status = http_status(error)
    if status in _SERVER_ERRORS:
        return Reply.FAILED
    if isinstance(error, ThrottledError) or status in _CLIENT_ERRORS:
        return Reply.ANSWERED
    return Reply.FAILED if classify(error, _POLICY).kind is ErrorClass.TRANSIENT else Reply.NOTHING


class Circuit:
    """The circuit of one key, as this process takes part in it."""

    def __init__(self, key: str, pool: Any, known: KnownLimits, events: Events) -> None:
        self._key = key
        self._pool = pool
        self._known = known
        self._events = events

    async def closed_for(self) -> float:
        """Seconds until somebody may try; 0: go on. What cannot be read now holds nobody up: without the database there
        is no permit either."""
        try:
            known = await self._known.of(self._key)
        except DATABASE_FAULTS:
            return 0.0
        return _wait(known)

    async def pass_through(self) -> tuple[float, int | None]:
        """With a permit at hand: 0, and for the one that tries an open circuit its token; or how long to stay away."""
        known = self._known.seen(self._key)
        if known is None or not known.open:
            return 0.0, None
        wait = _wait(known)
        if wait > 0:
            return wait, None
        token = await self._probe()
        pause = known.pause_seconds or 0.0
        self._known.note(self._key, probe_in_seconds=pause)
        if token is not None:
            return 0.0, token
        # Somebody else tries it, or it is closed again: the next look tells.
        return min(pause, 1.0), None

    async def _probe(self) -> int | None:
        try:
            async with self._pool.acquire() as connection:
                return await circuits.probe(connection, self._key)
        except DATABASE_FAULTS:
            return None

    async def told(self, error: BaseException | None, token: int | None) -> None:
        """After the call. Never raises in the place of the handler's own error: the worst is one more probe."""
        known = self._known.seen(self._key)
        if known is None or known.failure_limit is None:
            return
        with suppress(*DATABASE_FAULTS):
            match judged(error):
                case Reply.FAILED:
                    await self._failed(error, token)
                case Reply.ANSWERED:
                    if token is not None or (known.failures and not known.open):
                        await self._answered(token)
                case Reply.NOTHING:
                    if token is not None:
                        await self._give_back(token)

    async def _failed(self, error: BaseException | None, token: int | None) -> None:
        async with self._pool.acquire() as connection:
            result = await circuits.failed(connection, self._key, token)
        if result is None:
            return
        self._known.note(
            self._key,
            failures=result.failures,
            open=result.open,
            probe_in_seconds=result.pause_seconds if result.open else None,
        )
        if result.opened:
            self._events.emit(
                "limiter.opened",
                key=self._key,
                failures=result.failures,
                seconds=result.pause_seconds,
                reason=f"{type(error).__name__}: {error}"[:500],
            )

    async def _answered(self, token: int | None) -> None:
        async with self._pool.acquire() as connection:
            closed = await circuits.succeeded(connection, self._key, token)
        if closed or token is None:
            self._known.note(self._key, failures=0, open=False, probe_in_seconds=None)
        if closed:
            self._events.emit("limiter.closed", key=self._key)

    async def _give_back(self, token: int) -> None:
        async with self._pool.acquire() as connection:
            await circuits.give_back(connection, self._key, token)
        self._known.note(self._key, probe_in_seconds=0.0)


def _wait(known: KnownLimit | None) -> float:
    return (known.probe_in_seconds or 0.0) if known is not None and known.open else 0.0
