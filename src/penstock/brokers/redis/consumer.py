"""Receiving from Redis Streams.

Redis itself has neither "give back" nor "gone": an entry stays with the consumer that read it until somebody claims it.
So every consumer says regularly that it is there, gives back what silent ones hold, and gives back its own on close.
What was given back is handed out first, with its deliveries counted.
"""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from penstock.brokers.redis.link import GroupMissing, RedisLink, Script
from penstock.brokers.redis.names import GROUP, RETURNED, Names
from penstock.brokers.transport import MOST_DEAD, BrokerAway, BrokerRefused, Consumer, Message

_WAIT_SECONDS = 1.0
"""Longest single wait on the server. Short, so that a frozen server and what was given back are noticed soon."""

_MOST_AT_ONCE = 1000
_MOST_PARKED = 10_000
"""A stream that nobody may ever empty keeps about so many entries; the oldest go first."""

_DOUBT_SECONDS = 60.0
_NO_ENTRY = "18446744073709551615-18446744073709551614"
"""Reading one's own entries after it finds none, and counts as a sign of life. Not the very largest id: to Redis that
one means "new entries", and a sign of life would take messages that nobody handles."""

Given = bytes | list[bytes]
"""The message alone, or the names and values of all fields, one after the other as the server has them: a dictionary
would hide one that is there twice."""


class RedisConsumer(Consumer):
    """``_held``: what this consumer was handed and has not acknowledged. Entries that the server counts as ours and we
    do not know were handed out in an answer that never arrived: they are given back."""

    def __init__(
        self, link: RedisLink, names: Names, *, name: str, prefetch: int, idle_seconds: float, dead: str
    ) -> None:
        self._link = link
        self._names = names
        # A name of its own for each life, or a runner that comes back would look as if it had never been gone.
        self._name = f"{name}.{uuid4().hex[:8]}"
        self._prefetch = prefetch
        self._idle_seconds = idle_seconds
        self._dead = dead
        self._take = Script("take")
        self._give_back = Script("give_back")
        self._kept: list[Message] = []
        self._held: set[tuple[str, bytes]] = set()
        self._owed: set[tuple[str, bytes]] = set()
        self._lost = 0
        self._begun = False
        self._closed = False
        self._receiving = asyncio.Lock()
        self._waiting: asyncio.Task[Any] | None = None
        self._alive: asyncio.Task[None] | None = None
        self._next_rounds = 0.0
        self._doubt_until = 0.0

    async def start(self) -> None:
        """A server that is away is no hindrance: ``receive`` tells of it, and begins when it is back."""
        with contextlib.suppress(BrokerAway):
            await self._begin()
        self._alive = asyncio.create_task(self._stay_alive(), name=f"sign of life {self._name}")

    async def _begin(self) -> None:
        """Makes the queue where it is missing, and looks once at what older consumers put aside."""
        await self._make_groups()
        self._kept = sorted(await self._read_parked(), key=_urgency)
        self._begun = True

    @property
    def lost_count(self) -> int:
        return self._lost

    async def receive(self, most: int, wait_seconds: float) -> list[Message]:
        deadline = time.monotonic() + wait_seconds
        async with self._receiving:
            try:
                if not self._begun:
                    await self._begin()
                while not self._closed:
                    taken = await self._taken_or_made(most)
                    left = deadline - time.monotonic()
                    if taken or left <= 0:
                        return self._unless_closed(taken)
                    await self._wait(min(left, _WAIT_SECONDS))
            except (BrokerAway, asyncio.CancelledError) as error:
                # The server may have handed out messages in an answer that nobody will read.
                self._doubt_until = time.monotonic() + _DOUBT_SECONDS
                self._next_rounds = 0.0
                if not self._closed or isinstance(error, BrokerAway):
                    raise
        return []

    def _unless_closed(self, taken: list[Message]) -> list[Message]:
        """Closed while the server was asked: what came goes back with the rest."""
        return [] if self._closed else taken

    async def acknowledge(self, messages: Sequence[Message]) -> None:
        """What cannot be said now is said with the next call: the entries would stay ours for as long as we live."""
        tokens = {message.token for message in messages}
        self._held -= tokens
        self._owed |= tokens
        with contextlib.suppress(BrokerAway):
            await self._pay()

    async def bury(self, message: Message, reason: str, kind: str = "other") -> None:
        entry = ("m", message.raw, "queue", message.queue, "reason", reason, "deliveries", message.deliveries)
        await self._link.call("XADD", self._dead, "MAXLEN", "~", MOST_DEAD, "*", *entry, "kind", kind)
        await self.acknowledge([message])

    async def park(self, message: Message) -> None:
        entry = ("m", message.raw, "u", message.urgency)
        await self._link.call("XADD", self._names.parked, "MAXLEN", "~", _MOST_PARKED, "*", *entry)
        await self.acknowledge([message])

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for task in (self._waiting, self._alive):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        # Under the lock: a read that is still under way could take what was just given back.
        async with self._receiving:
            self._kept.clear()
            await self._leave()

    async def _leave(self) -> None:
        """A server that is away is told by the others, who find this consumer silent."""
        with contextlib.suppress(BrokerAway, BrokerRefused, GroupMissing):
            await self._pay()
            while (await self._returned(self._name, "closed"))[0] >= _MOST_AT_ONCE:
                pass

    async def _taken_or_made(self, most: int) -> list[Message]:
        """Of a queue that is missing there is nothing to take but what came since; it is made anew."""
        try:
            await self._settle_up()
            return await self._taken(most)
        except GroupMissing:
            self._lost += await self._make_groups()
            return await self._taken(most)

    async def _taken(self, most: int) -> list[Message]:
        found, self._kept = self._kept, []
        if len(found) < most:
            try:
                found += await self._read(most - len(found))
            except BaseException:
                self._kept = found
                raise
        # Stable: inside an urgency they stay in the order they came.
        found.sort(key=_urgency)
        self._kept = found[most:]
        return found[:most]

    async def _read(self, most: int) -> list[Message]:
        answer = await self._link.run(self._take, self._names.all, GROUP, self._name, RETURNED, most)
        found: list[Message] = []
        for urgency, (stream, flat) in enumerate(zip(self._names.all, answer, strict=True)):
            for entry_id, given, deliveries in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                found.append(self._message(stream, urgency, entry_id, given, deliveries))
        return found

    def _message(self, stream: str, urgency: int, entry_id: bytes, given: Given, deliveries: int) -> Message:
        raw = given
        if not isinstance(raw, bytes):
            parked = stream == self._names.parked
            raw, urgency = read_entry(raw, 1 if parked else urgency, parked=parked)
        token = (stream, entry_id)
        self._held.add(token)
        return Message(queue=self._names.queue, urgency=urgency, raw=raw, token=token, deliveries=deliveries)

    async def _wait(self, seconds: float) -> None:
        """Until there is something in one of the streams. Only few come with the signal: the rest is taken in order."""
        command = ("XREADGROUP", "GROUP", GROUP, self._name, "COUNT", 1, "BLOCK", max(1, int(seconds * 1000)))
        streams = self._names.streams
        call = self._link.call(*command, "STREAMS", *streams, *(">" for _ in streams), wait_seconds=seconds)
        self._waiting = waiting = asyncio.create_task(call, name=f"wait {self._name}")
        try:
            answer = await waiting
        except GroupMissing:
            # Emptied while we waited: the next look makes it anew.
            return
        finally:
            self._waiting = None
        for stream, entries in answer:
            name = stream.decode()
            for entry_id, fields in entries:
                self._kept.append(self._message(name, streams.index(name), entry_id, fields, 1))

    async def _read_parked(self) -> list[Message]:
        """Once, and only what is there now: what this consumer parks itself is for those that come after it."""
        command = ("XREADGROUP", "GROUP", GROUP, self._name, "COUNT", self._prefetch)
        answer = await self._link.call(*command, "STREAMS", self._names.parked, ">")
        parked = self._names.parked
        return [self._message(parked, 1, entry_id, fields, 1) for _, entries in answer for entry_id, fields in entries]

    async def _make_groups(self) -> bool:
        """Whether a stream of the queue was without a group. From the first entry on: what was sent before counts."""
        made = False
        for key in self._names.all:
            made |= await self._link.make_group(key, GROUP) and key != self._names.parked
        return made

    async def _settle_up(self) -> None:
        """Every few seconds: what silent consumers hold, and what the server believes us to have, goes back."""
        if self._owed:
            await self._pay()
        if (now := time.monotonic()) < self._next_rounds:
            return
        self._next_rounds = now + min(max(self._idle_seconds / 4, 0.1), 5.0)
        await self._returned(int(self._idle_seconds * 1000), "silent")
        if now < self._doubt_until:
            for key in self._names.all:
                await self._return_unknown(key)

    async def _return_unknown(self, key: str) -> None:
        pending = await self._link.pending(key, GROUP, self._name, _MOST_AT_ONCE)
        if unknown := [entry_id for entry_id in pending if (key, entry_id) not in self._held]:
            await self._link.hand_over(key, GROUP, RETURNED, unknown)

    async def _returned(self, whose: str | int, which: str) -> tuple[int, int]:
        arguments = (GROUP, RETURNED, _MOST_AT_ONCE, whose, which)
        moved, gone = await self._link.run(self._give_back, self._names.all, *arguments)
        return int(moved), int(gone)

    async def _pay(self) -> None:
        """Acknowledged and deleted in one step: between the two, an entry would be nobody's and never go."""
        by_stream: dict[str, list[bytes]] = defaultdict(list)
        paid = frozenset(self._owed)
        for stream, entry_id in paid:
            by_stream[stream].append(entry_id)
        commands: list[tuple[Any, ...]] = []
        for stream, ids in by_stream.items():
            commands += [("XACK", stream, GROUP, *ids), ("XDEL", stream, *ids)]
        if commands:
            await self._link.together(*commands)
            self._owed -= paid

    async def _stay_alive(self) -> None:
        """A runner that is busy receives nothing for a while, and is not gone."""
        keys = self._names.all
        command = ("XREADGROUP", "GROUP", GROUP, self._name, "COUNT", 1, "STREAMS")
        while True:
            await asyncio.sleep(self._idle_seconds / 3)
            # Whoever receives will meet the same error and say so.
            with contextlib.suppress(BrokerAway, BrokerRefused, GroupMissing):
                await self._link.call(*command, *keys, *(_NO_ENTRY for _ in keys))


def _urgency(message: Message) -> int:
    return message.urgency


def read_entry(fields: list[bytes], urgency: int, *, parked: bool) -> tuple[bytes, int]:
    """Message and urgency. Ours hold ``m``, and where they are parked also ``u``, in this order and nothing else. Of
    any other the fields themselves are the message: it is found unreadable, and whoever looks sees what it was."""
    if parked and len(fields) == 4 and fields[::2] == [b"m", b"u"] and fields[3] in (b"0", b"1", b"2"):
        return fields[1], int(fields[3])
    if not parked and len(fields) == 2 and fields[0] == b"m":
        return fields[1], urgency
    return b"\n".join(fields), urgency
