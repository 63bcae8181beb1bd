"""What a consumer holds on one channel: messages that wait for it, messages it was given, and the room for more."""

import time
from collections import deque
from collections.abc import Callable, Iterable

from pamqp import commands

from penstock.brokers.rabbitmq.channel import Channel
from penstock.brokers.rabbitmq.frames import Content, ack_frame, has_headers, read_properties
from penstock.brokers.transport import Message

URGENCY_HEADER = "x-penstock-urgency"


class Front:
    """Which deliveries of a channel are done, so that one acknowledgement stands for many. Delivery tags count up from
    1 on a channel. All up to the front are done; some above it may be as well."""

    __slots__ = ("_above", "_front")

    def __init__(self) -> None:
        self._front = 0
        self._above: set[int] = set()

    def reaches(self, tag: int) -> bool:
        """Whether everything up to this one is done."""
        return self._front >= tag

    def done(self, tags: Iterable[int]) -> tuple[int, list[int], set[int]]:
        """What to tell the broker: acknowledge everything up to the first number (0: nothing), and the others singly.
        Last come those that were not done before.

        The first number is always one of ``tags``: the broker does not take one that it was told before.
        """
        above, front = self._above, self._front
        fresh = {tag for tag in tags if tag > front and tag not in above}
        above |= fresh
        while front + 1 in above:
            front += 1
            above.discard(front)
        self._front = front
        through = max((tag for tag in fresh if tag <= front), default=0)
        return through, sorted(tag for tag in fresh if tag > front), fresh


class Holding:
    """Each of the three parts has a channel to itself, so that delivery tags follow the order of one queue and one
    acknowledgement stands for many.

    The broker counts against the prefetch what was given out as well. So when all of it was given out, the consumer is
    replaced by a new one, which has a prefetch of its own. There is only one at a time, or the order would be lost.
    """

    def __init__(self, *, queue: str, name: str, runner: str, urgency: int, prefetch: int) -> None:
        self.name = name
        self.urgency = urgency
        self.buffer: deque[Message] = deque()
        self.missing = False
        self.lost_count = 0
        """How often the queue had been lost when this channel began."""
        self.channel: Channel | None = None
        self._queue = queue
        self._runner = runner[:200]
        self._prefetch = prefetch
        self._consumers = 0
        self._last_tag = 0
        self._before = 0
        self._outstanding = 0
        self._heard_at = 0.0
        self._front = Front()

    @property
    def usable(self) -> bool:
        return self.channel is not None and self.channel.problem is None and not self.missing

    def doubt(self, *, silent_since: float, lost_count: int) -> None:
        """Lets go of a channel that nothing came through for long, or whose queue was lost, unless a message of it is
        held or worked on."""
        doubtful = self._heard_at < silent_since or self.lost_count != lost_count
        if self.channel is not None and doubtful and not self.buffer and self._front.reaches(self._last_tag):
            self.channel.abandon()

    async def start(self, channel: Channel, changed: Callable[[], None]) -> None:
        """Takes the channel over and begins to consume. Raises ``ClosedByServer`` where the queue is missing."""

        def arrived(content: Content) -> None:
            if self.channel is channel:
                self.buffer.append(self.message(content))
                self._last_tag = content.tag
                self._heard_at = time.monotonic()
                self._outstanding += 1
                changed()

        def cancelled() -> None:
            self.missing = self.missing or self.channel is channel
            changed()

        self.adopt(channel)
        channel.on_content, channel.on_cancel, channel.on_closed = arrived, cancelled, changed
        question = commands.Basic.Qos(prefetch_count=self._prefetch)
        await channel.call(question, commands.Basic.QosOk)
        self._consumers = 1
        first = commands.Basic.Consume(queue=self.name, consumer_tag=self._consumer_tag)
        await channel.call(first, commands.Basic.ConsumeOk)

    async def resize(self, prefetch: int) -> None:
        """The broker takes the number for consumers that begin later, so another one begins."""
        self._prefetch = prefetch
        if self._consumers and self.usable and self.channel is not None:
            await self.channel.call(commands.Basic.Qos(prefetch_count=prefetch), commands.Basic.QosOk)
            self._replace_consumer()

    async def stop(self) -> None:
        """Gives back what was not acknowledged. The consumer is cancelled first: RabbitMQ keeps acknowledgements in the
        channel while the queue is busy, and forgets them with the channel; the answer to a cancel comes after them."""
        channel = self.channel
        if channel is None:
            return
        channel.ignore()
        if self._consumers and not self.missing:
            await channel.call(commands.Basic.Cancel(consumer_tag=self._consumer_tag), commands.Basic.CancelOk)
        await channel.close()

    def adopt(self, channel: Channel) -> None:
        """From here on only this channel counts: what came through another one is given again by the broker."""
        self.channel = channel
        self.missing = False
        self._heard_at = time.monotonic()
        self.buffer.clear()
        self._consumers = self._last_tag = self._before = self._outstanding = 0
        self._front = Front()

    def message(self, content: Content) -> Message:
        deliveries, urgency = 1, self.urgency
        if has_headers(content.properties):
            headers = read_properties(content.properties).headers or {}
            counted, parked = headers.get("x-delivery-count"), headers.get(URGENCY_HEADER)
            deliveries = counted + 1 if isinstance(counted, int) else 1
            urgency = parked if isinstance(parked, int) and 0 <= parked <= 2 else urgency
        return Message(self._queue, urgency, content.body, (self, self.channel, content.tag), deliveries)

    def take(self, most: int) -> list[Message]:
        taken = [self.buffer.popleft() for _ in range(min(most, len(self.buffer)))]
        if self._consumers and not self.buffer and self._outstanding >= self._prefetch:
            self._replace_consumer()
        return taken

    def acknowledge(self, tags: Iterable[int]) -> None:
        """Known ones only: the caller has looked whether they came through this channel."""
        channel = self.channel
        if channel is None or channel.problem is not None:
            return
        through, singly, fresh = self._front.done(tags)
        parts = [ack_frame(channel.number, through, multiple=True)] if through else []
        parts += [ack_frame(channel.number, tag, multiple=False) for tag in singly]
        if parts:
            channel.send(b"".join(parts))
        before = self._before
        self._outstanding -= sum(1 for tag in fresh if tag > before)

    def _replace_consumer(self) -> None:
        """The old one has had all it may have, so nothing of it is under way, and what comes now is the new one's.
        After a change of size something may be under way; it counts as the new one's, which is replaced earlier."""
        if self.channel is None or self.missing:
            return
        self.channel.tell(commands.Basic.Cancel(consumer_tag=self._consumer_tag, nowait=True))
        self._consumers += 1
        self.channel.tell(commands.Basic.Consume(queue=self.name, consumer_tag=self._consumer_tag, nowait=True))
        self._before, self._outstanding = self._last_tag, 0

    @property
    def _consumer_tag(self) -> str:
        return f"{self._runner}-{self._consumers}"
