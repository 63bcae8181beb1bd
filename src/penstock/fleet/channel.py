"""Messages between a supervisor and a runner: one JSON object a line, over a socket pair."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import orjson


class Channel:
    """Either end. Reading ends when the other side is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> "Channel":
        reader, writer = await asyncio.open_connection(sock=end, limit=4 * 1024 * 1024)
        return cls(reader, writer)

    def send(self, **message: Any) -> None:
        """Never waits: messages are small, and a side that does not read is about to be killed."""
        if not self._writer.is_closing():
            self._writer.write(orjson.dumps(message) + b"\n")

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        while line := await self._read():
            yield orjson.loads(line)

    async def _read(self) -> bytes:
        try:
            return await self._reader.readline()
        except (ConnectionError, ValueError):
            return b""

    def close(self) -> None:
        self._writer.close()
