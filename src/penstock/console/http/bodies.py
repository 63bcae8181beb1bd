"""Bodies: how large those of a route may be and how slowly they may come, and how a route reads a form itself."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.config import Settings
from penstock.console.http.problems import Problem, problem_of

# Of callers whose credentials were not found to hold, whatever the route.
ANONYMOUS_BYTES = 64 * 1024
# Room for 10,000 ids, or for the longest input of a task with every character escaped.
JSON_BYTES = 1024 * 1024
_PART_BYTES = 1024 * 1024
_MARK = "__penstock_body_limits__"

Limit = int | Callable[[Settings], int]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one route. ``form``: of `multipart/form-data`, which is kept on disk while it comes."""

    json: Limit
    form: Limit | None = None

    def bytes_of(self, content_type: str, settings: Settings) -> int:
        is_form = self.form is not None and media_type(content_type) == "multipart/form-data"
        limit = self.form if is_form and self.form is not None else self.json
        return limit if isinstance(limit, int) else limit(settings)


OTHERS = Limits(json=JSON_BYTES)


def takes(*, json: Limit = JSON_BYTES, form: Limit | None = None) -> Callable[[Endpoint], Endpoint]:
    """Below the decorator of a route whose bodies are larger than others'. The limits hold before the route is
    called, and `docs/service.md` lists them."""

    def marked(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _MARK, Limits(json=json, form=form))
        return endpoint

    return marked


def limits_of(endpoint: object) -> Limits:
    found: Limits = getattr(endpoint, _MARK, OTHERS)
    return found


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


async def form_of(request: Request, *, most_files: int) -> FormData:
    """Read to the end; the caller closes it."""
    try:
        return await request.form(max_files=most_files, max_fields=50, max_part_size=_PART_BYTES)
    except Problem:
        raise
    except (MultiPartException, HTTPException) as error:
        detail = error.message if isinstance(error, MultiPartException) else error.detail
        raise Problem(400, f"The form cannot be read: {detail}") from None


def text_fields(parts: Sequence[tuple[str, object]]) -> dict[str, Any]:
    """Of a form, beside its field `file`; an empty one is one that was left out."""
    given: dict[str, Any] = {}
    for name, value in parts:
        if name == "file":
            continue
        if not isinstance(value, str) or name in given:
            raise Problem(422, f"{name}: it is given twice, or as a file.")
        given[name] = value if value else None
    return {name: value for name, value in given.items() if value is not None}


def validated(model: type[Any], given: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Problem(422, f"{where}: {first['msg']}.") from None


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
        self.settings = settings
        self.is_known = is_known
        self.anonymous_seconds = anonymous_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(self, Request(scope), receive)

        async def sending(message: Message) -> None:
            body.answered = True
            await send(message)

        await self._app(scope, body.receive, sending)


class _Body:
    """Of one request, counted while it comes."""

    def __init__(self, limits: BodyLimits, request: Request, receive: Receive) -> None:
        self.answered = False
        self._limits = limits
        self._request = request
        self._receive = receive
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
                self._until = asyncio.get_running_loop().time() + self._limits.anonymous_seconds
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
                        f"The body was not complete within {self._limits.anonymous_seconds:g} s, the limit for requests"
                        " without valid credentials. Send it faster, or with a valid token.",
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
            self._known = getattr(self._request.state, "known", False) or await self._limits.is_known(self._request)
        return self._known

    def _route_bytes(self) -> int:
        """The router has found the route before anybody reads the body."""
        limits = limits_of(getattr(self._request.scope.get("route"), "endpoint", None))
        return limits.bytes_of(self._request.headers.get("content-type", ""), self._limits.settings())


def _announced_bytes(request: Request) -> int:
    announced = request.headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _too_large(limit_bytes: int, of_what: str) -> Problem:
    return Problem(413, f"Request body too large: the limit is {limit_bytes:,} bytes{of_what}.", limitBytes=limit_bytes)
