"""The connection to Redis: every call has an end in time, and every error a sentence."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as LinkError
from redis.exceptions import TimeoutError as NoAnswer

from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.errors import PenstockError

ANSWER_SECONDS = 3.5
"""A server that does not answer for so long is away. It is asked again, and meanwhile nothing is lost."""

_MOMENTARY = re.compile(
    r"\b(LOADING|BUSY|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MISCONF|NOREPLICAS|max number of clients)\b"
)
"""Answers that a server gives for a while: it starts, has lost its leader, or is full."""

_MOMENTARY_ERRORS = (LinkError, OSError, ReadOnlyError, OutOfMemoryError, MasterDownError, ClusterDownError)


class GroupMissing(Exception):
    """The stream or its group is not there: nobody has made it yet, or somebody emptied the server."""


class GroupExists(Exception):
    """Somebody else has made the group."""


class Script:
    """A Lua script of the folder ``lua``, which a server is sent once and then knows by its hash. Several names: one
    script of several files, since Lua in Redis has no other way to share."""

    def __init__(self, *names: str) -> None:
        folder = resources.files("penstock.brokers").joinpath("lua")
        self.text = "\n".join(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class RedisLink:
    """Connections are made when needed and again when they broke. Nothing is tried twice unless ``tries`` says so:
    whoever calls knows whether a second try is wise. ``line_seconds``: how long one try may wait for its line."""

    def __init__(
        self, url: str, *, answer_seconds: float = ANSWER_SECONDS, line_seconds: float | None = None, tries: int = 1
    ) -> None:
        self.address = shown(url)
        self._answer_seconds = answer_seconds
        self._client: Redis = Redis.from_url(
            url,
            protocol=2,
            socket_timeout=line_seconds,
            socket_connect_timeout=line_seconds or answer_seconds,
            retry=Retry(NoBackoff(), tries - 1),
            health_check_interval=0,
        )
        # The client would make a dictionary of an entry's fields, and a field that is there twice would be there once.
        self._client.set_response_callback("XREADGROUP", _as_it_came)

    async def call(self, *command: Any, wait_seconds: float = 0.0) -> Any:
        """``wait_seconds``: how long the command itself may block on the server."""
        execute: Any = self._client.execute_command
        return await self._bounded(execute(*command), wait_seconds)

    async def together(self, *commands: tuple[Any, ...]) -> list[Any]:
        """All or none of them, in one round trip."""
        async with self._client.pipeline(transaction=True) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return list(await self._bounded(pipeline.execute()))

    async def run(self, script: Script, keys: tuple[str, ...], *arguments: Any) -> Any:
        try:
            return await self.call("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            return await self.call("EVAL", script.text, len(keys), *keys, *arguments)

    async def make_group(self, stream: str, group: str) -> bool:
        """Whether there was none. It begins with the first entry of the stream, which is made as well."""
        try:
            await self._bounded(self._client.xgroup_create(stream, group, id="0", mkstream=True))
        except GroupExists:
            return False
        return True

    async def pending(self, stream: str, group: str, consumer: str, most: int) -> list[bytes]:
        """Ids of the oldest entries that the server counts as this consumer's."""
        asked = self._client.xpending_range(stream, group, "-", "+", most, consumername=consumer)
        return [one["message_id"] for one in await self._bounded(asked)]

    async def hand_over(self, stream: str, group: str, consumer: str, ids: list[bytes]) -> None:
        """They are this consumer's from now on; that alone counts as no delivery."""
        await self._bounded(self._client.xclaim(stream, group, consumer, 0, list(ids), justid=True))

    async def close(self) -> None:
        await self._client.aclose()

    async def _bounded(self, call: Awaitable[Any], wait_seconds: float = 0.0) -> Any:
        task = asyncio.current_task()
        cancelled_before = task.cancelling() if task else 0
        try:
            # One limit for everything: connecting, logging in, sending and receiving.
            async with asyncio.timeout(wait_seconds + self._answer_seconds):
                return await call
        except (RedisError, OSError, TimeoutError) as error:
            raise self.told(error) from error
        finally:
            # The client sends with `asyncio.wait_for`, which on Python 3.11 drops a cancellation that arrives when the
            # command has just been sent. Whoever was cancelled would go on for ever.
            if task and task.cancelling() > cancelled_before:
                raise asyncio.CancelledError

    def told(self, error: Exception) -> Exception:
        """What an error of the client means to the engine."""
        said = str(error) or type(error).__name__
        if isinstance(error, NoScriptError):
            return error
        if isinstance(error, (AuthenticationError, AuthorizationError, NoPermissionError)) or "NOAUTH" in said:
            return self._refused(said, "Correct user and password in PENSTOCK_REDIS_URL, or what the user may do.")
        if isinstance(error, (TimeoutError, NoAnswer)):
            return self._away(f"no answer within {self._answer_seconds:g} s")
        if isinstance(error, _MOMENTARY_ERRORS) or _MOMENTARY.search(said):
            return self._away(said)
        if "BUSYGROUP" in said:
            return GroupExists(said)
        # The last of them is what XINFO says of a stream that is gone.
        if "NOGROUP" in said or "UNBLOCKED" in said or "no such key" in said:
            return GroupMissing(said)
        return self._refusal(said) if isinstance(error, ResponseError) else self._away(said)

    def _refusal(self, said: str) -> PenstockError:
        if "WRONGTYPE" in said:
            return self._refused(
                "a key of ours holds something else than a stream",
                "Another program uses the same names: set PENSTOCK_BROKER_PREFIX to another word, or remove the key.",
            )
        if "unknown command" in said.lower():
            return self._refused(said, "Redis 6.2 or newer is needed.")
        if "MOVED" in said:
            return self._refused(said, "Name a single server in PENSTOCK_REDIS_URL: a cluster is not supported.")
        return self._refused(said, "Look at the server's log and at PENSTOCK_REDIS_URL.")

    def _away(self, cause: str) -> BrokerAway:
        return BrokerAway(transport="redis", address=self.address, cause=cause.rstrip("."))

    def _refused(self, cause: str, next_step: str) -> BrokerRefused:
        return BrokerRefused(transport="redis", address=self.address, cause=cause.rstrip("."), next_step=next_step)


def _as_it_came(response: Any, **options: Any) -> Any:
    return response or []


def shown(url: str) -> str:
    """The address for people: without user, password and options, which may hold secrets too."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
