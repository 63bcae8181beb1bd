"""Every request gets an id, a line in the log, and headers that browsers need."""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
_SLOW_MS = 500.0


class Requests:
    """ASGI middleware, outermost but one, so that also a refused request is told."""

    def __init__(self, app: ASGIApp, counted: Callable[..., None] = lambda **_: None) -> None:
        """``counted`` is told method, route, status and seconds of every answer."""
        self._app = app
        self._counted = counted
        self._log = structlog.get_logger("penstock.console")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.monotonic()
        seen: dict[str, Any] = {}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                seen["endless"] = (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    *((name, value) for name, value in _HEADERS if name not in present),
                ]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, sending)
            finally:
                took = time.monotonic() - started
                # A stream lasts as long as somebody looks: that is not slow.
                self._tell(scope, seen.get("status"), 0.0 if seen.get("endless") else took * 1000)
                self._counted(
                    method=scope["method"],
                    route=getattr(scope.get("route"), "path", None),
                    status=seen.get("status"),
                    seconds=None if seen.get("endless") else took,
                )

    def _tell(self, scope: Scope, status: int | None, took_ms: float) -> None:
        """The path without its query: filters may hold what people typed."""
        quiet = scope["path"] in _QUIET and status is not None and status < 400
        level = "debug" if quiet else "warning" if status is None or status >= 500 or took_ms > _SLOW_MS else "info"
        getattr(self._log, level)(
            "request", method=scope["method"], path=scope["path"], status=status, ms=round(took_ms, 1)
        )
