"""The messages of one stage on their way into a runner: received, read, kept until there is room, acknowledged at last.

Owns the consumer. A broker that is away is tried again and again; how long it has been away is for others to judge.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from penstock.brokers.broker_watch import BrokerWatch
from penstock.brokers.envelope import UnknownVersion, Unreadable, job_id_of, reference
from penstock.brokers.stage_transports import BrokerStage
from penstock.brokers.transport import BrokerAway, BrokerRefused, Consumer, Message
from penstock.events import Events

_WAIT_SECONDS = 1.0
# The broker is told of another window when it has changed by this factor.
_GROWN, _SHRUNK = 2, 4

Consume = Callable[[BrokerStage, int], Awaitable[Consumer]]


class Announced(NamedTuple):
    """``tries``: how often it was not to be had though nobody had it."""

    task_id: int
    message: Message
    tries: int = 0


class Feed:
    def __init__(
        self,
        *,
        stage: BrokerStage,
        installation: UUID,
        consume: Consume,
        window: Callable[[], int],
        events: Events,
        arrived: Callable[[], None],
        emptied: Callable[[int], Awaitable[None]],
        transport: str,
    ) -> None:
        """``consume`` opens a consumer of the stage's queue with a prefetch. ``window``: how many messages are worth
        holding now. ``arrived``: there are some. ``emptied``: the broker lost the queue, or messages went by unread."""
        self.stage = stage
        self._installation = installation
        self._consume = consume
        self._window = window
        self._events = events
        self._arrived = arrived
        self._emptied = emptied
        self._transport = transport
        self.watch = BrokerWatch(events, transport)
        self._heard_at = time.monotonic()
        self._consumer: Consumer | None = None
        self._prefetch = 0
        self._lost = 0
        self._waiting: deque[Announced] = deque()
        self._room = asyncio.Event()
        self._resting = False
        self._receiving: asyncio.Timeout | None = None
        self._done: list[Message] = []
        self._to_acknowledge = asyncio.Event()
        # task → its messages, from the claim until the settle
        self._held: dict[int, list[Message]] = {}

    # ---------------------------------------------------------------- receiving

    async def run(self) -> None:
        while True:
            try:
                await self._receive()
                self.watch.works()
            except (BrokerAway, BrokerRefused) as error:
                await self._drop_consumer()
                self._arrived()  # somebody has to judge how long it is away
                await asyncio.sleep(self.watch.failed(error))

    def rest(self) -> None:
        """Nothing can be started here for a while: what was received goes back to the broker, for others."""
        if not self._resting:
            self._resting = True
            self._room.set()
            if self._receiving is not None:
                self._receiving.reschedule(0.0)

    def resume(self) -> None:
        if self._resting:
            self._resting = False
            self._heard_at = time.monotonic()
            self._room.set()

    async def _receive(self) -> None:
        if self._resting:
            await self._drop_consumer()
            await self._until_room()
            return
        consumer = await self._ready()
        room = self._window() - len(self._waiting)
        if room <= 0:
            await self._until_room()
            return
        until_rest = asyncio.timeout(None)
        try:
            async with until_rest:
                self._receiving = until_rest
                messages = await consumer.receive(room, _WAIT_SECONDS)
        except TimeoutError:
            if not until_rest.expired():
                raise
            # Messages that came in that moment would stay unacknowledged with it.
            await self._drop_consumer()
            return
        finally:
            self._receiving = None
        if consumer.lost_count > self._lost:
            self._lost = consumer.lost_count
            await self._emptied(self.stage.id)
        for message in messages:
            await self._read(consumer, message)
        if messages:
            self._heard_at = time.monotonic()
            self._arrived()

    async def _until_room(self) -> None:
        self._room.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._room.wait()

    @property
    def silent_seconds(self) -> float:
        """For how long there has been nothing to claim."""
        return 0.0 if self._waiting or self._resting else time.monotonic() - self._heard_at

    async def _read(self, consumer: Consumer, message: Message) -> None:
        try:
            envelope = reference(message.raw)
            if envelope.job_id != job_id_of(self._installation, envelope.task_id):
                clause = "header.job_id is not that of the task: it is forged, or of another installation"
                raise Unreadable(clause, "forged")
        except Unreadable as problem:
            self._events.emit(
                "messages.buried", transport=self._transport, stage=self.stage.type, reason=problem.reason
            )
            await consumer.bury(message, problem.reason, problem.kind)
            return
        except UnknownVersion as problem:
            self._events.emit("messages.parked", transport=self._transport, stage=self.stage.type, reason=str(problem))
            await consumer.park(message)
            return
        if envelope.type != self.stage.type:
            self._events.emit(
                "messages.parked", transport=self._transport, stage=self.stage.type, reason=f"type {envelope.type!r}"
            )
            await consumer.park(message)
            return
        self._waiting.append(Announced(envelope.task_id, message))

    async def _ready(self) -> Consumer:
        wanted = self._window()
        if self._consumer is None:
            self._consumer = await self._consume(self.stage, wanted)
            self._prefetch, self._lost = wanted, 0
        elif wanted >= _GROWN * self._prefetch or wanted * _SHRUNK <= self._prefetch:
            await self._consumer.resize(wanted)
            self._prefetch = wanted
        return self._consumer

    async def _drop_consumer(self) -> None:
        """What it had handed out comes again, to somebody: a second message for a task is harmless."""
        consumer, self._consumer = self._consumer, None
        self._waiting.clear()
        self._done.clear()
        self._held.clear()
        if consumer is not None:
            await consumer.close()

    # ---------------------------------------------------------------- claiming and letting go

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, most: int) -> list[Announced]:
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        if taken:
            self._room.set()
        return taken

    def put_back(self, taken: Sequence[Announced]) -> None:
        self._waiting.extendleft(reversed(taken))

    def later(self, ones: Sequence[Announced], delay_seconds: float) -> None:
        """To be tried again."""
        asyncio.get_running_loop().call_later(delay_seconds, self._again, ones, self._consumer)

    def _again(self, ones: Sequence[Announced], consumer: Consumer | None) -> None:
        if consumer is self._consumer and consumer is not None:
            self.put_back([one._replace(tries=one.tries + 1) for one in ones])
            self._arrived()

    def hold(self, task_id: int, message: Message) -> None:
        self._held.setdefault(task_id, []).append(message)

    def settled(self, task_ids: Iterable[int]) -> None:
        """These have left the runner: their messages may go."""
        if not self._held:
            return
        for task_id in task_ids:
            if (messages := self._held.pop(task_id, None)) is not None:
                self._done += messages
        if self._done:
            self._to_acknowledge.set()

    def dismiss(self, messages: Iterable[Message]) -> None:
        """Nothing to do for these."""
        self._done += messages
        self._to_acknowledge.set()

    async def acknowledge(self) -> None:
        """A loop of its own: a slow broker holds up nothing else."""
        while True:
            await self._to_acknowledge.wait()
            self._to_acknowledge.clear()
            await self.flush()

    async def flush(self) -> None:
        done, self._done = self._done, []
        if done and self._consumer is not None:
            try:
                await self._consumer.acknowledge(done)
            except (BrokerAway, BrokerRefused):
                return  # they come again, find nothing to claim, and go

    async def close(self) -> None:
        await self.flush()
        await self._drop_consumer()
