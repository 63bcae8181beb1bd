"""A call to Redis that is cancelled ends as cancelled, at whatever moment that comes."""

import asyncio
from typing import Any

import pytest
from redis.asyncio.connection import AbstractConnection

from penstock.brokers.redis.link import RedisLink


async def test_a_cancellation_at_the_moment_a_command_has_been_sent_is_not_lost(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = RedisLink(redis_url, answer_seconds=60, line_seconds=60)
    assert await link.call("PING")
    sent = AbstractConnection._send_packed_command

    async def cancelled_when_sent(self: AbstractConnection, command: Any) -> None:
        await sent(self, command)
        calling.cancel()

    with monkeypatch.context() as patched:
        patched.setattr(AbstractConnection, "_send_packed_command", cancelled_when_sent)
        calling = asyncio.create_task(link.call("PING"))
        await asyncio.wait([calling])
    again = await link.call("PING")
    await link.close()
    assert again and calling.cancelled()
