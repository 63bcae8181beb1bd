"""Brings dead messages home: from a broker's dead-letter queue into PostgreSQL, where people look for dead letters.

Run by the relay of a broker, of which there is one at a time and which has the connection already. Stored first,
forgotten by the broker afterwards: who dies in between leaves a message that is collected again and kept once.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

from penstock.brokers.envelope import Kind
from penstock.brokers.transport import BrokerAway, BrokerRefused, Transport
from penstock.config import Settings
from penstock.events import Events
from penstock.storage import dead_messages as table
from penstock.storage.database import DATABASE_FAULTS, Link
from penstock.storage.dead_messages import DeadMessage

CLASSES = (*get_args(Kind), "broker", "other")
_EVERY_SECONDS = 5.0
_MOST = 5000
_BETWEEN_SECONDS = 0.1
_DUTY = "collect dead messages"
# Told by the relay, which meets it first.
_PASSED_OVER: tuple[type[BaseException], ...] = (BrokerAway, BrokerRefused, *DATABASE_FAULTS)


def class_of(kind: str) -> str:
    """One of ``CLASSES``. What a message carries as its kind is somebody else's text as well."""
    return kind if kind in CLASSES else "other"


class Collector:
    """``transport``: the broker while this process is its relay, else None."""

    def __init__(
        self,
        name: str,
        *,
        settings: Settings,
        url: str,
        events: Events,
        transport: Callable[[], Transport | None],
    ) -> None:
        self._name = name
        self._events = events
        self._transport = transport
        self._every_seconds = min(_EVERY_SECONDS, settings.resend_every_seconds)
        self._link = Link(settings, url, purpose=f"dead messages {name}", lock_timeout_ms=500)

    async def run(self) -> None:
        """Never ends by itself. What is away is told by the relay, which meets it first."""
        try:
            while True:
                found = 0
                try:
                    found = await self.run_once()
                except _PASSED_OVER:
                    pass
                except Exception as error:
                    # Sending goes on, whatever is wrong with what is dead.
                    self._link.drop()
                    self._events.emit("duty.failed", duty=_DUTY, error=f"{type(error).__name__}: {error}")
                await asyncio.sleep(self._every_seconds if found < _MOST else _BETWEEN_SECONDS)
        finally:
            self._link.drop()

    async def run_once(self) -> int:
        """Returns how many messages left the broker."""
        transport = self._transport()
        if transport is None:
            return 0
        return await transport.drain_dead(_MOST, self._keep)

    async def _keep(self, messages: Sequence[DeadMessage]) -> None:
        async with self._link.guarded() as connection:
            kept = await table.keep(connection, self._name, messages)
        if kept:
            self._events.emit(
                "messages.collected",
                transport=self._name,
                count=len(kept),
                reasons=dict(Counter(class_of(one.kind) for one in kept)),
                messages=[one.id for one in kept],
            )
