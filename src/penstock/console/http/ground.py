"""What the routes stand on, made once per process and found through the request."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import Depends, Request

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.http.attempts import Attempts
from penstock.console.http.cursors import Cursors, Listing
from penstock.console.people.passwords import PasswordHashes
from penstock.storage import audit
from penstock.workers.slice import Slices

# Each look at a file may take a core for seconds; the next ones wait for their turn.
_PREVIEWS_AT_ONCE = 2
_SEEN_SECONDS = 60.0
_SEEN_MOST = 10_000


@dataclass(slots=True, kw_only=True)
class Ground:
    app: Penstock
    settings: Settings
    cursors: Cursors
    slices: Slices
    # The beginning of an action in the audit log, and the type of what it changes that has no job.
    kinds: Mapping[str, str] = field(default_factory=dict)
    # Told the type of what a request changed, where no event of the engine tells it.
    touched: Callable[[str], None] = lambda kind: None
    password_hashes: PasswordHashes = field(default_factory=PasswordHashes)
    # By name: whoever knows one may not try passwords for ever, from wherever they come.
    password_attempts: Attempts = field(default_factory=lambda: Attempts(most=10, seconds=300.0))
    preview_turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PREVIEWS_AT_ONCE))
    # When an admin last looked at an object of somebody else: a page that refreshes itself is one entry a minute.
    _looked: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def listing(self, user: str, *query: object) -> Listing:
        return Listing(self.cursors, user, *query)

    async def note(self, entry: audit.Entry) -> None:
        async with self.app.connection() as connection:
            await audit.append(connection, entry)
        if (kind := self.kinds.get(entry.action.partition(".")[0])) is not None:
            self.touched(kind)

    async def note_look(self, entry: audit.Entry) -> None:
        """An admin read what belongs to somebody else."""
        key = (entry.actor, entry.action, f"{entry.kind} {entry.object} {entry.ip}")
        now = time.monotonic()
        if now - self._looked.get(key, float("-inf")) < _SEEN_SECONDS:
            return
        if len(self._looked) >= _SEEN_MOST:
            self._looked.clear()
        async with self.app.connection() as connection:
            await audit.append(connection, replace(entry, look=True))
        self._looked[key] = now


def ground_of(request: Request) -> Ground:
    ground: Ground = request.app.state.ground
    return ground


async def _here(request: Request) -> Ground:
    return ground_of(request)


# For routes that need nothing else of their request.
Here = Annotated[Ground, Depends(_here)]
