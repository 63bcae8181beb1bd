"""Batches on their way to a broker: published, confirmed, and then noted in the table, several at one time."""

import asyncio
from collections import deque
from collections.abc import Sequence

from penstock.brokers.transport import Outgoing, Transport
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import relay as table
from penstock.storage.database import Link
from penstock.storage.relay import Unsent

_BATCHES_AT_ONCE = 3


class Sender:
    """While the broker stores one batch, the next one is read. Owns the connection that notes what was sent."""

    def __init__(self, name: str, *, link: Link, events: Events, failpoints: Failpoints) -> None:
        self._name = name
        self._link = link
        self._events = events
        self._failpoints = failpoints
        self._marking = asyncio.Lock()
        self._sending: deque[asyncio.Task[None]] = deque()
        self._under_way: set[int] = set()
        self._failed = False
        self.sent = 0

    def new(self, rows: Sequence[Unsent]) -> list[Unsent]:
        """Without those that are on their way already."""
        return [row for row in rows if row.task_id not in self._under_way]

    def take_failed(self) -> bool:
        """Whether a batch did not arrive since the last time: its rows were passed by and have to be read again."""
        failed, self._failed = self._failed, False
        return failed

    async def begin(self, transport: Transport, rows: Sequence[Unsent], batch: Sequence[Outgoing]) -> None:
        """Raises what an earlier batch failed with."""
        self._under_way.update(row.task_id for row in rows)
        self._sending.append(asyncio.create_task(self._send(transport, rows, batch)))
        await self.finish(_BATCHES_AT_ONCE - 1)

    async def finish(self, left: int = 0) -> None:
        """Waits until at most ``left`` batches are under way."""
        while len(self._sending) > left:
            first = self._sending[0]
            await asyncio.wait([first])
            self._sending.popleft()
            first.result()

    async def close(self) -> None:
        for sending in self._sending:
            sending.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._sending.clear()
        self._link.drop()

    async def _send(self, transport: Transport, rows: Sequence[Unsent], batch: Sequence[Outgoing]) -> None:
        try:
            await transport.publish(batch)
            self._failpoints.hit("after_publish", self._link.drop)
            async with self._marking, self._link.guarded() as connection:
                await table.mark_sent(connection, rows)
        except BaseException:
            self._failed = True
            raise
        finally:
            self._under_way.difference_update(row.task_id for row in rows)
        self.sent += len(rows)
        self._events.emit("messages.sent", transport=self._name, count=len(rows))
