"""A file that is streamed to the client."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Attachment(StreamingResponse):
    """Lets go of what it streams from also where the client was gone before the first byte."""

    def __init__(self, body: AsyncIterator[bytes], held: AsyncExitStack, headers: dict[str, str], media: str) -> None:
        self._held = held
        super().__init__(body, headers=headers, media_type=media)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)
