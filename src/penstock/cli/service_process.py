"""The HTTP service as the process that keeps it sees it: started on a socket that stays open, and started again.

A process of its own, so that no export and no heavy request ever delays a heartbeat. The two talk over a socket pair:
orders and "stop" go down, what the service counted comes up, and the supervisor's metrics go down again. A pair has no
name and no port: nobody else can connect to it, nothing is left behind, and its end tells the service that it is alone.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from penstock.config import Settings
from penstock.fleet.channel import Channel

_LONGEST_BACKOFF_SECONDS = 10.0
_STEADY_SECONDS = 10.0
_AFTER_GRACE_SECONDS = 1.5


class ServiceProcess:
    """``run`` until ``stop``; ``kill`` does not wait for requests."""

    def __init__(
        self,
        *,
        settings: Settings,
        url: str,
        app: str,
        extensions: Sequence[str],
        listening: socket.socket,
        metrics: Callable[[], Awaitable[bytes]],
        counted: Callable[[list[list[Any]]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._listening = listening
        self._metrics = metrics
        self._counted = counted
        self._tell = tell
        self._grace_seconds = settings.grace_seconds
        self._orders = {
            "app": app,
            "url": url,
            "extensions": list(extensions),
            "settings": settings.handed_on(),
            "listening": listening.fileno(),
        }
        self.ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._channel: Channel | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def stop(self) -> None:
        self._stopping.set()
        if self._channel is not None:
            self._channel.send(stop=True)

    def kill(self) -> None:
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            begun = time.monotonic()
            code = await self.run_once()
            if self._stopping.is_set():
                return
            steady = self.ready.is_set() and time.monotonic() - begun > _STEADY_SECONDS
            failures = 0 if steady else failures + 1
            self._tell(f"The HTTP service ended ({_how(code)}); it is started again.")
            self.ready.clear()
            pause = min(0.1 * 2**failures, _LONGEST_BACKOFF_SECONDS)
            await asyncio.wait([stopping := asyncio.create_task(self._stopping.wait())], timeout=pause)
            stopping.cancel()

    async def run_once(self) -> int:
        """One life of the process; returns how it ended."""
        ours, theirs = socket.socketpair()
        try:
            # The database's address goes over the channel: everybody on the machine can read a command line.
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "penstock.cli.service_main", str(theirs.fileno()), str(os.getpid())),
                pass_fds=(theirs.fileno(), self._listening.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._process = process
        self._channel = await Channel.over(ours)
        self._channel.send(orders=self._orders)
        reading = asyncio.create_task(self._read(self._channel))
        try:
            return await self._end_of(process)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self._channel.close()
            self._channel = None

    async def _end_of(self, process: asyncio.subprocess.Process) -> int:
        ended = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                if self._channel is not None:
                    self._channel.send(stop=True)
                await asyncio.wait([ended], timeout=self._grace_seconds + _AFTER_GRACE_SECONDS)
        finally:
            stopping.cancel()
            if process.returncode is None and not ended.done():
                process.kill()
            code = await ended
        return code

    async def _read(self, channel: Channel) -> None:
        async for message in channel.messages():
            if message.get("ready"):
                self.ready.set()
            if "ask" in message:
                self._counted(message["metrics"])
                channel.send(answer=message["ask"], text=(await self._metrics()).decode())


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
