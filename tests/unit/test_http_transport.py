"""A request that is cancelled while it closes old connections of its client leaves none of them open."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from penstock.providers.json_client import json_client

CONNECTIONS = 8
ROUNDS = 12  # of the loop, between the request and its cancellation; it closes old connections somewhere in between


class Server:
    """Answers once it has a request from each of CONNECTIONS, and nothing after it closed those."""

    def __init__(self) -> None:
        self.url = ""
        self._asked = 0
        self._all_asked = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            self._asked += 1
            if self._asked == CONNECTIONS:
                self._all_asked.set()
            await self._all_asked.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    async def close_connections(self) -> None:
        self._all_asked.clear()
        for writer in self._writers:
            writer.close()
            await writer.wait_closed()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    serving = Server()
    listening = await asyncio.start_server(serving.answer, "127.0.0.1", 0)
    serving.url = "http://127.0.0.1:{1}/".format(*listening.sockets[0].getsockname())
    yield serving
    listening.close()
    await serving.close_connections()


@pytest.mark.parametrize("rounds", range(ROUNDS))
async def test_a_request_cancelled_as_it_closes_expired_connections_closes_all_of_them(server: Server, rounds: int):
    async with json_client(None, 60) as client, asyncio.timeout(60):
        await asyncio.gather(*(client.get(server.url) for _ in range(CONNECTIONS)))
        pool = client._transport._pool
        held = pool.connections
        assert len(held) == CONNECTIONS
        await server.close_connections()
        while not all(one.has_expired() for one in held):
            await asyncio.sleep(0)
        asking = asyncio.create_task(client.get(server.url))
        for _ in range(rounds):
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        assert [one for one in held if not one.is_closed() and one not in pool.connections] == []
