"""A connection that comes in the moment its server closes is handed over, and not left open for ever."""

import asyncio
import gc
import socket

import pytest

from penstock.closing import stop_listening

ROUNDS = 6  # of the loop, between the connection and the close; it is accepted somewhere in between


@pytest.mark.parametrize("rounds", range(ROUNDS))
async def test_a_connection_accepted_as_its_server_closes_reaches_its_handler_or_nobody(rounds, recwarn):
    faults = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, fault: faults.append(fault))
    handled = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.append(1)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()):
        for _ in range(rounds):
            await asyncio.sleep(0)
        await stop_listening(server)
        begun = len(handled)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        gc.collect()
    assert not faults
    assert len(handled) == begun, "a handler began after the server was closed"
    assert not [str(warning.message) for warning in recwarn if "unclosed" in str(warning.message)]


async def test_a_closed_server_can_be_closed_again():
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    await stop_listening(server)
    await stop_listening(server)


async def test_a_close_that_is_cancelled_still_closes():
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    closing = asyncio.create_task(stop_listening(server))
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not server.is_serving()
