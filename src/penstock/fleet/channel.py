"""Between a process of the fleet and the one that started it: what it owes to that one, and messages, one JSON object a
line, over a socket pair. Imports little: every child starts with it.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import orjson

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Linux kills this process when its parent dies, even while a handler holds the GIL: nobody would keep its leases
    alive."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def leave_signals_to_the_parent(*others: signal.Signals) -> None:
    """Ctrl-C and a service manager's SIGTERM reach the whole group; only the parent decides.

    Handlers that do nothing and not SIG_IGN, which programs started by a handler would inherit: nobody could end them
    politely."""
    for number in (signal.SIGINT, signal.SIGTERM, *others):
        signal.signal(number, lambda *_: None)


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
