"""Keys of a terminal, one at a time, on the event loop: nothing blocks, and Ctrl-C works as everywhere."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Keys:
    """``key`` waits for one key, ``line`` for a line that is shown while it is typed."""

    def __init__(self, number: int, before: list[Any]) -> None:
        self._number = number
        self._before = before

    async def key(self) -> str:
        """An empty text: the terminal is gone."""
        return (await self._read(1)).decode("utf-8", "replace")

    async def line(self) -> str:
        termios.tcsetattr(self._number, termios.TCSADRAIN, self._before)
        try:
            return (await self._read(8192)).decode("utf-8", "replace").rstrip("\n")
        finally:
            tty.setcbreak(self._number, termios.TCSADRAIN)

    async def _read(self, most: int) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._number, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(self._number)
        return os.read(self._number, most)


@contextmanager
def keys() -> Iterator[Keys]:
    """The terminal is as it was afterwards, whatever happened."""
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number, termios.TCSADRAIN)
    try:
        yield Keys(number, before)
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
