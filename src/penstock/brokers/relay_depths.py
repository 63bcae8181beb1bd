"""How full the queues of a broker are, and how much may be sent to them."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.brokers.stage_transports import BrokerStage
from penstock.brokers.transport import Transport
from penstock.storage.relay import Unsent

# The broker is asked so often; in between, what was sent is added. More often while a queue is as full as it may be, or
# workers that have become quick would wait.
_EVERY_SECONDS, _FULL_EVERY_SECONDS = 0.25, 0.02
LEAST, FIRST = 100, 500
_TAKEN_SECONDS = 0.5
_NEARLY_EMPTY = 0.25


def relay_ahead(*, before: int, taken_per_second: float, waiting: int, most: int) -> int:
    """How many messages of a stage may wait in its broker. ``before``: what it was; ``waiting``: messages that were
    left when it was looked at.

    What waits there stands in line: an urgent task, or one of another lane, comes behind it. So no more than what the
    workers take in half a second, as they have done lately; twice as much each time they have nearly emptied it. While
    nobody takes anything, it stays as it is."""
    if taken_per_second <= 0:
        return min(before, most)
    wanted = int(taken_per_second * _TAKEN_SECONDS)
    if waiting <= before * _NEARLY_EMPTY:
        wanted = max(wanted, before * 2)
    return max(min(wanted, most), min(LEAST, most))


@dataclass(slots=True)
class _Queue:
    """``depth``: as the broker said, with what was sent since."""

    ahead: int
    depth: int = 0
    taken: int = 0
    taken_per_second: float = 0.0


class Depths:
    def __init__(self, *, most: int, first: int = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._first = min(first, most)
        self._clock = clock
        self._queues: dict[int, _Queue] = {}
        self._asked_at = float("-inf")
        self._judged_at = clock()

    def forget(self) -> None:
        """The next look asks the broker. What it has less than was sent did not arrive; no worker took it."""
        self._asked_at = float("-inf")
        for queue in self._queues.values():
            queue.depth = 0

    @property
    def full_seconds(self) -> float | None:
        """When to look again where a queue is full; None: none is."""
        full = any(queue.depth >= queue.ahead for queue in self._queues.values())
        return _FULL_EVERY_SECONDS if full else None

    def sent(self, rows: Iterable[Unsent]) -> None:
        for row in rows:
            self._queues[row.stage].depth += 1

    async def room(self, transport: Transport, stages: Iterable[BrokerStage], batch: int) -> dict[int, int]:
        """By stage, a batch at most."""
        now = self._clock()
        if now - self._asked_at >= (_FULL_EVERY_SECONDS if self.full_seconds else _EVERY_SECONDS):
            for stage in stages:
                await self._ask(transport, stage)
            self._asked_at = now
        if now - self._judged_at >= _EVERY_SECONDS:
            for queue in self._queues.values():
                self._judge(queue, now - self._judged_at)
            self._judged_at = now
        return {stage: min(queue.ahead - queue.depth, batch) for stage, queue in self._queues.items()}

    async def _ask(self, transport: Transport, stage: BrokerStage) -> None:
        queue = self._queues.setdefault(stage.id, _Queue(ahead=self._first))
        depth = await transport.depth(stage.queue)
        queue.taken += max(queue.depth - depth, 0)
        queue.depth = depth

    def _judge(self, queue: _Queue, passed_seconds: float) -> None:
        """By the slower of two looks: workers that fill their inboxes take much at once, and then little."""
        taken_per_second = queue.taken / passed_seconds
        queue.ahead = relay_ahead(
            before=queue.ahead,
            taken_per_second=min(taken_per_second, queue.taken_per_second),
            waiting=queue.depth,
            most=self._most,
        )
        queue.taken, queue.taken_per_second = 0, taken_per_second
