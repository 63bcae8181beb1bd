"""Holds a client that resolves names by itself to the one address that was checked.

The S3 client is given this as its proxy. Whatever host it asks for, also after a redirect or when the name means
something else by now, its bytes go to that address. TLS stays between the client and the far end.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from penstock.closing import stop_listening

_HEAD_LIMIT_BYTES = 64 * 1024
_CONNECT_SECONDS = 10.0
_PIECE_BYTES = 64 * 1024


@asynccontextmanager
async def pinned(address: str, port: int) -> AsyncIterator[str]:
    """The URL of the proxy, on loopback, for as long as the block lasts."""
    running: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await _pass(reader, writer, address, port)
        except asyncio.CancelledError:
            pass  # the block has ended
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=_HEAD_LIMIT_BYTES)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await stop_listening(server)
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, port: int) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(_CONNECT_SECONDS):
        far_reader, far_writer = await asyncio.open_connection(address, port)
    try:
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            far_writer.write(head)
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
    finally:
        far_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; the other then learns it by an end of its own."""
    try:
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
