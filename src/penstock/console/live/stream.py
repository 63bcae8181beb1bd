"""Live events for browsers: what a process hears once goes to every connection that may see it.

Pure fan-out, without a database: ``live.py`` says what happened, ``routes/stream.py`` writes it to a client. Events are
encoded once and shared by all connections; the newest ones are kept in a ring, so that a client that comes back
misses nothing. One that comes back too late is told to fetch everything again (``reset``).
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

RETRY_MS = 2000
# Enough for half a minute of a busy fleet; a client that was away longer fetches again anyway.
_RING = 2000
# What may wait for one client before it is cut: several whole bursts.
_WAITING_BYTES = 256 * 1024
# More changed objects at once than this are one `reset`: cheaper for everybody than an event each.
BURST = 500
MOST_CONNECTIONS = 500
MOST_OF_ONE_USER = 100


@dataclass(frozen=True, slots=True)
class Note:
    """One event as it goes out. ``owner`` None and not ``public``: only for those who see everybody's."""

    number: int
    owner: str | None
    public: bool
    chunk: bytes


@dataclass(eq=False, slots=True, kw_only=True)
class StreamClient:
    """One client. ``still_allowed`` asks the database again whether its token or session still counts."""

    user: str
    sees_all: bool
    still_allowed: Callable[[], Awaitable[bool]]
    waiting_bytes: int = _WAITING_BYTES
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    # True: it did not read, so its line is cut instead of closed.
    cut: bool = False
    _waiting: list[bytes] = field(default_factory=list)
    _size: int = 0
    _something: asyncio.Event = field(default_factory=asyncio.Event)

    def sees(self, note: Note) -> bool:
        return note.public or self.sees_all or (note.owner is not None and note.owner == self.user)

    def offer(self, chunk: bytes) -> None:
        """Never waits, never keeps more than the bound: a client that does not read is cut."""
        if self.ended.is_set():
            return
        if self._size + len(chunk) > self.waiting_bytes:
            self.end(cut=True)
            return
        self._waiting.append(chunk)
        self._size += len(chunk)
        self._something.set()

    async def take(self) -> bytes:
        """All that waits, at least one event."""
        await self._something.wait()
        self._something.clear()
        taken, self._waiting, self._size = b"".join(self._waiting), [], 0
        return taken

    def end(self, *, cut: bool = False) -> None:
        self.cut = self.cut or cut
        self.ended.set()
        if cut:
            self._waiting, self._size = [], 0


class Hub:
    """One per process. Numbers restart with the process, so an id also names the process it came from."""

    def __init__(self, *, ring: int = _RING) -> None:
        self._process = secrets.token_hex(4)
        self._number = 0
        self._ring: deque[Note] = deque(maxlen=ring)
        self._connections: set[StreamClient] = set()
        self._stale: str | None = None
        self.closed = False

    # ---------------------------------------------------------------- clients

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def newest(self) -> str:
        """The id of the last event, for a client that wants to hear of everything after it."""
        return f"{self._process}-{self._number}"

    def of_user(self, user: str) -> int:
        return sum(1 for one in self._connections if one.user == user)

    def join(self, connection: StreamClient, last_event_id: str | None) -> None:
        """From here on it gets every event it may see, beginning with those it missed."""
        connection.offer(f"retry: {RETRY_MS}\n\n".encode())
        missed = None if last_event_id is None else self._since(last_event_id)
        if last_event_id is not None and missed is None:
            connection.offer(self._encoded("reset", {"reason": "too much happened since the last event you saw"}))
        for note in missed or ():
            if connection.sees(note):
                connection.offer(note.chunk)
        if self._stale is None:
            connection.offer(self._encoded("live", {}))
        else:
            connection.offer(self._encoded("stale", {"reason": self._stale}))
        if self.closed:
            connection.end()
        self._connections.add(connection)

    def leave(self, connection: StreamClient) -> None:
        self._connections.discard(connection)

    def close(self) -> None:
        """Every stream ends now; clients come back by themselves, to the next process."""
        self.closed = True
        for connection in self._connections:
            connection.end()

    def _since(self, last_event_id: str) -> list[Note] | None:
        """None: nobody knows what was missed."""
        process, _, number = last_event_id.partition("-")
        if process != self._process or not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        last = int(number)
        oldest_known = self._ring[0].number if self._ring else self._number + 1
        if last > self._number or last + 1 < oldest_known:
            return None
        return [note for note in self._ring if note.number > last]

    # ---------------------------------------------------------------- events

    def publish(self, kind: str, data: dict[str, Any], *, owner: str | None = None, public: bool = False) -> None:
        self._number += 1
        note = Note(self._number, owner, public, self._encoded(kind, data))
        self._ring.append(note)
        for connection in self._connections:
            if connection.sees(note):
                connection.offer(note.chunk)

    def reset(self, reason: str) -> None:
        """Something may have been missed: clients fetch again what they show."""
        self.publish("reset", {"reason": reason}, public=True)

    def stale(self, reason: str) -> None:
        """What clients show may be old by now."""
        if self._stale is None:
            self._stale = reason
            self.publish("stale", {"reason": reason}, public=True)

    def live(self) -> None:
        """Nothing was heard while the database was away, so what is shown has to be fetched again."""
        if self._stale is not None:
            self._stale = None
            self.publish("live", {}, public=True)
            self.reset("the database was away")

    def beat(self) -> int:
        """Keeps idle lines open, and lets clients notice a dead one. It carries the newest id, so that a quiet client
        does not fall out of the ring."""
        chunk = self._encoded("beat", {})
        for connection in self._connections:
            connection.offer(chunk)
        return len(self._connections)

    async def check(self) -> int:
        """End the streams of those whose token or session does not count any more; returns how many."""
        ended = 0
        for connection in list(self._connections):
            if not connection.ended.is_set() and not await connection.still_allowed():
                connection.end()
                ended += 1
        return ended

    def _encoded(self, kind: str, data: dict[str, Any]) -> bytes:
        head = f"id: {self.newest}\nevent: {kind}\ndata: ".encode()
        return head + orjson.dumps(data) + b"\n\n"
