"""How much of a body is read, and how slowly it may come. Checked before anything else sees the body."""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.config import Settings
from penstock.console.http.bodies import ANONYMOUS_BYTES, limits_of
from penstock.console.http.problems import Problem, problem_of

IsKnown = Callable[[Request], Awaitable[bool]]
_ANONYMOUS_SECONDS = 20.0


class BodyLimits:
    """ASGI middleware. FastAPI reads a JSON body whole before a route can ask who sends it, so this asks first.

    A body of up to ``ANONYMOUS_BYTES`` is passed on unasked, if it comes in time. Before more of it is read, the
    credentials have to hold; then the route's own limit counts. Nothing is checked until somebody reads the body, so a
    route that asks by itself who is there answers 401 as it always does.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Callable[[], Settings],
        is_known: IsKnown,
        anonymous_seconds: float = _ANONYMOUS_SECONDS,
    ) -> None:
        self._app = app
        self._settings = settings
        self._is_known = is_known
        self._anonymous_seconds = anonymous_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive, self._settings, self._is_known, self._anonymous_seconds)

        async def sending(message: Message) -> None:
            body.answered = True
            await send(message)

        await self._app(scope, body.receive, sending)


class _Body:
    """Of one request, counted while it comes."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        settings: Callable[[], Settings],
        is_known: IsKnown,
        anonymous_seconds: float,
    ) -> None:
        self.answered = False
        self._settings = settings
        self._request = Request(scope)
        self._receive = receive
        self._is_known = is_known
        self._seconds = anonymous_seconds
        self._until: float | None = None
        self._known = False
        self._complete = False
        self._seen_bytes = 0

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        if self.answered:
            return await self._after_the_answer()
        try:
            if self._until is None:
                self._until = asyncio.get_running_loop().time() + self._seconds
                await self._allow(_announced_bytes(self._request))
            message = await self._in_time()
            self._seen_bytes += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            await self._allow(self._seen_bytes)
        except Exception as error:
            # Raised inside a route that reads: whatever is no Problem becomes a 400 there.
            if (problem := problem_of(error)) is None or problem is error:
                raise
            raise problem from error
        return message

    async def _after_the_answer(self) -> Message:
        """Whoever reads now waits for the client to go away. More than the small limit is as good as that."""
        message = await self._receive()
        self._seen_bytes += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._seen_bytes > ANONYMOUS_BYTES else message

    async def _in_time(self) -> Message:
        if not self._known:
            try:
                async with asyncio.timeout_at(self._until):
                    return await self._receive()
            except TimeoutError:
                if not await self._ask():
                    raise Problem(
                        408,
                        f"The body was not complete within {self._seconds:g} s, the limit for requests without valid"
                        " credentials. Send it faster, or with a valid token.",
                    ) from None
        return await self._receive()

    async def _allow(self, size_bytes: int) -> None:
        if size_bytes > ANONYMOUS_BYTES and not await self._ask():
            raise _too_large(ANONYMOUS_BYTES, " without valid credentials. Send a valid token, or log in")
        if size_bytes > (most_bytes := self._route_bytes()):
            raise _too_large(most_bytes, f" to {self._request.method} {self._request.url.path}")

    async def _ask(self) -> bool:
        """A route that asked by itself who is there has left a note."""
        if not self._known:
            self._known = getattr(self._request.state, "known", False) or await self._is_known(self._request)
        return self._known

    def _route_bytes(self) -> int:
        """The router has found the route before anybody reads the body."""
        limits = limits_of(getattr(self._request.scope.get("route"), "endpoint", None))
        return limits.bytes_of(self._request.headers.get("content-type", ""), self._settings())


def _announced_bytes(request: Request) -> int:
    announced = request.headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _too_large(limit_bytes: int, of_what: str) -> Problem:
    return Problem(413, f"Request body too large: the limit is {limit_bytes:,} bytes{of_what}.", limitBytes=limit_bytes)
