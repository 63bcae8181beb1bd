"""Handlers that take all the memory or all the file descriptors their process may have."""

import asyncio
import errno
import gc
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock import Context, Penstock, RetryPolicy
from penstock.testing.ledger import Pen

app = Penstock("hungry")
pen = Pen()
_AT_ONCE = RetryPolicy(base_seconds=0.01, jitter=0)
_MEGABYTE = 1024 * 1024


@app.task(retry=_AT_ONCE)
async def quick(ctx: Context, n: int) -> int:
    pen.note(ctx, "start")
    return n


@app.task(retry=_AT_ONCE, max_attempts=2, pool=1)
def asks_for_too_much(ctx: Context) -> int:
    """One allocation that the machine does not have."""
    pen.note(ctx, "start")
    with _little_memory_left():
        return len(bytearray(1024 * _MEGABYTE))


@app.task(retry=_AT_ONCE, max_attempts=2, isolated=True)
def asks_for_too_much_alone(ctx: Context) -> int:
    with _little_memory_left():
        return len(bytearray(1024 * _MEGABYTE))


@app.task(retry=_AT_ONCE, max_attempts=10, pool=1)
def hoards_memory(ctx: Context, seconds: float) -> None:
    """Piece by piece, until nobody in the process gets any more; and keeps it."""
    pen.note(ctx, "start")
    with _little_memory_left():
        hoard: list[bytearray] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for size_bytes in (_MEGABYTE, 64 * 1024, 4096):
                try:
                    while True:
                        hoard.append(bytearray(size_bytes))
                except MemoryError:
                    continue
            time.sleep(0.001)


@app.task(retry=_AT_ONCE, max_attempts=10, pool=1)
async def starves_a_callback(ctx: Context, error: str) -> None:
    """What a transport says when there is no memory for what it read: nobody awaits it, and it reads no more."""
    pen.note(ctx, "start")
    asyncio.get_running_loop().call_soon(_raise, MemoryError() if error == "memory" else OSError(errno.ENOMEM, "none"))
    await asyncio.sleep(60)


def _raise(error: BaseException) -> None:
    raise error


@app.task(retry=_AT_ONCE, pool=1)
async def forgets_a_task(ctx: Context) -> str:
    """What it started and nobody awaits finds no memory: its own affair."""
    starved = asyncio.Event()

    async def starve() -> None:
        starved.set()
        raise MemoryError("too large")

    asyncio.get_running_loop().create_task(starve())
    await starved.wait()
    gc.collect()
    return "fine"


@app.task(retry=_AT_ONCE, max_attempts=50, pool=1)
async def breaks_the_runner(ctx: Context) -> None:
    """A fault in one of the runner's own loops, brought about from a handler."""
    pen.note(ctx, "start")
    loop = next(one for one in asyncio.all_tasks() if one.get_name() == "penstock-deadlines")
    coroutine = loop.get_coro()
    assert coroutine is not None
    coroutine.cr_frame.f_locals["self"].pools = None
    await asyncio.sleep(60)


@app.task(retry=_AT_ONCE, max_attempts=2, pool=1)
def hoards_files(ctx: Context, gate: str) -> None:
    """Opens every file that can be had while the gate is closed, then falls over that."""
    pen.note(ctx, "start")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    hoard: list[int] = []
    try:
        while True:
            try:
                hoard.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                if Path(gate).exists():
                    raise
                time.sleep(0.001)
    finally:
        for descriptor in hoard:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def _little_memory_left() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 16 * _MEGABYTE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
