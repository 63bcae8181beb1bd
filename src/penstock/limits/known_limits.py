"""What this process knows of the limits, blocks and circuits of the keys it uses.

Their truth is in PostgreSQL. All keys in use are read in one statement, each at most every half second; between two
reads nobody asks. What is older than a second is not used, so a change holds everywhere a second later.
"""

import asyncio
import contextvars
from dataclasses import replace
from time import monotonic
from typing import Any

from penstock.storage import limits
from penstock.storage.limits import KnownLimit

_READ_AGAIN_SECONDS = 0.5
OLDEST_SECONDS = 1.0
# A key nobody asked for in this time is not read any more.
_IN_USE_SECONDS = 10.0


class KnownLimits:
    """Belongs to one event loop."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._found: dict[str, tuple[KnownLimit, float]] = {}
        self._used: dict[str, float] = {}
        self._forgotten = 0
        self._reading: asyncio.Task[None] | None = None
        self._read_for: frozenset[str] = frozenset()

    async def of(self, key: str) -> KnownLimit | None:
        """As it stands by now. Raises what the database raises where nothing recent is known."""
        now = monotonic()
        self._used[key] = now
        found = self._found.get(key)
        if found is None or now - found[1] > OLDEST_SECONDS:
            forgotten = None
            while forgotten != self._forgotten:  # what was read before a `forget` is out of date as well
                forgotten = self._forgotten
                await self._read(key)
        elif now - found[1] > _READ_AGAIN_SECONDS:
            self._begin()
        return self.seen(key)

    def seen(self, key: str) -> KnownLimit | None:
        """The same without a look."""
        found = self._found.get(key)
        if found is None:
            return None
        known, read_at = found
        age = monotonic() - read_at
        probe_in = known.probe_in_seconds
        return replace(
            known,
            blocked_seconds=max(known.blocked_seconds - age, 0.0),
            probe_in_seconds=None if probe_in is None else max(probe_in - age, 0.0),
            changed_seconds=known.changed_seconds + age,
        )

    def note(self, key: str, **changes: Any) -> None:
        """What this process did itself, until it is read again."""
        known = self.seen(key)
        if known is not None:
            self._found[key] = (replace(known, **changes), monotonic())

    def forget(self) -> None:
        """Whoever asks next looks again, also if a look is on its way."""
        self._forgotten += 1
        self._found.clear()

    @property
    def keys_in_use(self) -> tuple[str, ...]:
        return tuple(self._used)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, key: str) -> None:
        """Who comes while others are being read for waits for those first, then has itself read if need be."""
        reading = self._begin()
        if key not in self._read_for:
            await asyncio.wait([reading])
            reading = self._begin()
        await asyncio.shield(reading)

    def _begin(self) -> "asyncio.Task[None]":
        """One read at a time, for everybody; not in the context of whoever happened to need it."""
        if self._reading is None or self._reading.done():
            earliest = monotonic() - _IN_USE_SECONDS
            self._used = {key: at for key, at in self._used.items() if at >= earliest}
            self._found = {key: one for key, one in self._found.items() if key in self._used}
            self._read_for = frozenset(self._used)
            self._reading = asyncio.get_running_loop().create_task(
                self._read_all(sorted(self._read_for)), name="known limits", context=contextvars.Context()
            )
            self._reading.add_done_callback(_seen)
        return self._reading

    async def _read_all(self, keys: list[str]) -> None:
        forgotten = self._forgotten
        async with self._pool.acquire() as connection:
            rows = await limits.known(connection, keys)
        read_at = monotonic()
        if forgotten == self._forgotten:
            self._found.update({row.key: (row, read_at) for row in rows})


def _seen(reading: "asyncio.Task[None]") -> None:
    """A read in the background that failed is no news: whoever needs it tries again and is told."""
    if not reading.cancelled():
        reading.exception()
