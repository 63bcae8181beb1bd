"""A connection that comes back: made when it is needed, and not asked for more often than a broker can stand."""

import asyncio
import random

from penstock.brokers.rabbitmq.address import Address
from penstock.brokers.rabbitmq.connection import NAME, Connection
from penstock.brokers.transport import BrokerAway, BrokerRefused

_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 3.0


class Link:
    """Nothing runs in the background: whoever needs the connection waits for it, or learns at once that the last
    attempt failed a moment ago."""

    def __init__(self, address: Address, purpose: str) -> None:
        self.address = address
        self._purpose = purpose
        self._connection: Connection | None = None
        self._failed: BrokerAway | BrokerRefused | None = None
        self._pause_seconds = 0.0
        self._not_before = 0.0
        self._closed = False
        self._lock = asyncio.Lock()

    async def connection(self) -> Connection:
        """Raises ``BrokerAway`` or ``BrokerRefused``."""
        if (known := self._alive()) is not None:
            return known
        async with self._lock:
            if (known := self._alive()) is not None:
                return known
            if self._closed:
                raise BrokerAway(transport=NAME, address=str(self.address), cause="the connection was closed here")
            now = asyncio.get_running_loop().time
            if self._failed is not None and now() < self._not_before:
                raise self._failed.with_traceback(None)
            try:
                self._connection = await Connection.opened(self.address, self._purpose)
            except (BrokerAway, BrokerRefused) as error:
                self._failed = error
                self._pause_seconds = min(max(_FIRST_SECONDS, self._pause_seconds * 2), _LONGEST_SECONDS)
                self._not_before = now() + self._pause_seconds * random.uniform(0.7, 1.0)
                raise
            self._failed, self._pause_seconds = None, 0.0
            return self._connection

    async def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            await self._connection.close()

    def _alive(self) -> Connection | None:
        return self._connection if self._connection is not None and self._connection.problem is None else None
