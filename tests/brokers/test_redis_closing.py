"""A consumer of Redis that is closed while the server answers it."""

import asyncio
from typing import Any

import pytest

from penstock.brokers.redis.consumer import RedisConsumer
from tests.brokers.brokers import broker, reader, received, send, texts


async def test_what_was_taken_while_the_consumer_was_closed_is_nobodys_and_comes_again(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has handed it out, the answer is here, and meanwhile somebody closed: nobody would handle it."""
    place, taken, closing = broker("redis", redis_url), asyncio.Event(), asyncio.Event()
    ask = RedisConsumer._taken

    async def slowly(self: RedisConsumer, most: int) -> Any:
        found = await ask(self, most)
        taken.set()
        await closing.wait()
        return found

    async with place.opened() as transport:
        consumer = await reader(transport, place.queue)
        await send(transport, place.queue, "kept")
        monkeypatch.setattr(RedisConsumer, "_taken", slowly)
        receiving = asyncio.create_task(consumer.receive(1, 3600))
        await asyncio.wait_for(taken.wait(), 60)
        monkeypatch.setattr(RedisConsumer, "_taken", ask)
        leaving = asyncio.create_task(consumer.close())
        while not consumer._closed:
            await asyncio.sleep(0)
        closing.set()
        assert await asyncio.wait_for(receiving, 60) == []
        await asyncio.wait_for(leaving, 60)
        assert texts(await received(await reader(transport, place.queue), 1)) == ["kept"]
        await transport.remove(place.queue)
