"""`/api/stream`: server-sent events about what the caller may see."""

import asyncio
from contextlib import suppress
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.security import HTTPBearer
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.console.http.actor import COOKIE, Viewer, current
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import Problem, documented
from penstock.console.live.live import live_of
from penstock.console.live.stream import MOST_CONNECTIONS, MOST_OF_ONE_USER, Hub, StreamClient
from penstock.storage.database import DATABASE_FAULTS

router = APIRouter(prefix="/api/stream", tags=["stream"], responses=documented(429))

_bearer = HTTPBearer(auto_error=False)
_EXAMPLE = 'id: 5f1c22aa-17\nevent: job\ndata: {"jobId":48,"owner":"ann"}\n\n'
_EVENTS = {
    "description": "Events `job`, `stage`, `object`, `live`, `stale`, `reset` and `beat`; see docs/service.md.",
    "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
}


class EventStream(Response):
    """Writes until the client leaves, the hub ends it, or the client stops reading."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, connection: StreamClient) -> None:
        # A proxy that collects the answer before it passes it on would make the stream useless.
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._hub = hub
        self._connection = connection
        self._blocked = False
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = [
            asyncio.create_task(self._write(send)),
            asyncio.create_task(_left(receive)),
            asyncio.create_task(self._connection.ended.wait()),
        ]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(self._connection)
            cut = self._connection.cut or self._blocked
            for part in parts:
                part.cancel()
            results = await asyncio.gather(*parts, return_exceptions=True)
        if cut:
            # What the client did not read is thrown away with the line. The server puts this into the scope.
            scope.get("state", {}).get("cut_line", lambda: None)()
            with suppress(
                TimeoutError
            ):  # the server wants to know the line closed before the answer ends in the middle
                async with asyncio.timeout(1):
                    await _left(receive)
            return
        if isinstance(results[0], Exception) and not isinstance(results[0], OSError):
            raise results[0]
        if parts[1].cancelled():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        while True:
            chunk = await self._connection.take()
            self._blocked = True  # seen by others only while the client does not read
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._blocked = False


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@router.get("", operation_id="stream", status_code=200, response_class=EventStream, responses={200: _EVENTS})
async def stream(
    request: Request,
    actor: Viewer,
    user_id: Annotated[
        Literal["me", "all"], Query(alias="userId", description="`all`: everybody's objects, for admins; audited.")
    ] = "me",
    last_event_id: Annotated[
        str | None, Header(description="The `id` of the last event seen; what came after it is sent first.")
    ] = None,
    from_event_id: Annotated[
        str | None,
        Query(alias="lastEventId", max_length=100, description="The same for browsers, which cannot set the header."),
    ] = None,
) -> EventStream:
    """Tells which jobs, stages and other objects changed, as they do. Fetch what you show when it is named, and all on
    `reset`."""
    if user_id == "all":
        if not actor.is_admin:
            raise Problem(403, f"Only an admin may listen to everybody's objects; {actor.name} is {actor.role}.")
        await ground_of(request).note_look(actor.entry("stream.all", kind="stream"))
    hub = live_of(request).hub
    if hub.of_user(actor.name) >= MOST_OF_ONE_USER or hub.connections >= MOST_CONNECTIONS:
        raise Problem(
            429,
            f"Too many streams are open. One process keeps {MOST_CONNECTIONS}, {MOST_OF_ONE_USER} for one user; one"
            " per browser is enough.",
            headers={"Retry-After": "30"},
        )

    async def still_allowed() -> bool:
        try:
            now = await current(request, await _bearer(request), request.cookies.get(COOKIE))
        except Problem as problem:
            return problem.status != 401
        except DATABASE_FAULTS:
            return True  # nobody can say; asked again soon
        return now.name == actor.name and (user_id == "me" or now.is_admin)

    connection = StreamClient(user=actor.name, sees_all=user_id == "all", still_allowed=still_allowed)
    # The header is newer: a browser that comes back by itself sends it, with the address it began with.
    hub.join(connection, from_event_id if last_event_id is None else last_event_id)
    return EventStream(hub, connection)
