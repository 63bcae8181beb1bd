"""Runs the service on a socket that is already bound: limits on slow and greedy clients, and an orderly stop."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

import h11
import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.closing import stop_listening
from penstock.config import Settings
from penstock.console.http.listening import BACKLOG
from penstock.console.live.live import Live
from penstock.observe.logs import current_stderr, style

_HEAD_BYTES = 32 * 1024
_HEAD_SECONDS = 20.0
_BODY_PAUSE_SECONDS = 60.0
# What is still read of a body whose request was answered, so that a client that sends first and reads then finds the
# answer; nothing of it is kept.
_AFTER_ANSWER_BYTES = 16 * 1024 * 1024
_AFTER_ANSWER_SECONDS = 10.0
_LOOK_SECONDS = 5.0
_KEEP_ALIVE_SECONDS = 15
# Streams have a bound of their own below this; more connections at once are answered with 503.
_CONNECTIONS = 900


class Connection(H11Protocol):
    """Ends clients that send a request too slowly or after it was answered, and lets a stream cut one that does not
    read."""

    _head_since: float | None = None
    _heard_at = 0.0
    _answered_since: float | None = None
    _after_answer_bytes = 0
    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.app_state = {**self.app_state, "cut_line": self.transport.abort}
        self._head_since = self._heard_at = time.monotonic()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        self._heard_at = time.monotonic()
        # The parser bounds a head that is not complete; one that comes in a single piece is complete at once.
        if self.conn.their_state is h11.IDLE and len(data) > _HEAD_BYTES and b"\r\n\r\n" not in data[:_HEAD_BYTES]:
            self.send_400_response("The head of the request is too long.")
            return
        if self._is_too_much(data):
            # What was answered is written first; who does not read that either is cut at the next look.
            self.transport.close()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None
        elif self._head_since is None:
            self._head_since = self._heard_at

    def _is_too_much(self, data: bytes) -> bool:
        self._after_answer_bytes = self._after_answer_bytes + len(data) if self._is_body_after_answer() else 0
        return self._after_answer_bytes > _AFTER_ANSWER_BYTES

    def _is_body_after_answer(self) -> bool:
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def connection_lost(self, exc: Exception | None) -> None:
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._looking = self.loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        now = time.monotonic()
        slow_head = self._head_since is not None and now - self._head_since > _HEAD_SECONDS
        # While we do not read, because a route is still busy with what came, the pause is ours.
        in_body = self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused
        self._answered_since = (self._answered_since or now) if self._is_body_after_answer() else None
        late = self._answered_since is not None and now - self._answered_since > _AFTER_ANSWER_SECONDS
        if slow_head or late or (in_body and now - self._heard_at > _BODY_PAUSE_SECONDS):
            self.transport.abort()
        else:
            self._look_later()


class Server(uvicorn.Server):
    """``stop`` is polite, ``kill`` is not. Signals are the caller's business."""

    def __init__(self, api: FastAPI, settings: Settings) -> None:
        live: Live = api.state.live
        self._live = live
        trusted = [one.strip() for one in settings.forwarded_allow_ips.split(",") if one.strip()]
        super().__init__(
            uvicorn.Config(
                api,
                http=Connection,
                ws="none",
                # The caller opens the application, so that its errors are sentences and not a traceback.
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(trusted),
                forwarded_allow_ips=trusted,
                h11_max_incomplete_event_size=_HEAD_BYTES,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=max(int(settings.grace_seconds), 1),
                limit_concurrency=_CONNECTIONS,
                backlog=BACKLOG,
            )
        )

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def stop(self) -> None:
        """Streams end now, running requests get the grace."""
        self._live.hub.close()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            await stop_listening(server)
        await super().shutdown(sockets)

    def kill(self) -> None:
        self.stop()
        self.force_exit = True
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def run(
    api: FastAPI, server: Server, listening: socket.socket, *, ready: Callable[[], None] = lambda: None
) -> None:
    """Until ``server.stop``. ``ready`` is called when the application is open."""
    async with api.router.lifespan_context(api):
        ready()
        await server.serve(sockets=[listening])


def configure_logs(settings: Settings) -> None:
    """Lines of the service look like those of the engine and go to stderr: stdout belongs to the command's data."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(current_stderr()), **style(settings))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
