"""What a broker is to Penstock, and what a message looks like.

PostgreSQL holds every task; a message only says "task 17 is due". So a lost message costs delay, a doubled one nothing,
and a broker that was emptied is filled again from the table.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from penstock.errors import PenstockError
from penstock.storage.dead_messages import DeadMessage

PRIORITIES = ("high", "normal", "low")
"""A broker keeps these three apart. Inside one, messages come in the order they were sent."""


def urgency(priority: int) -> int:
    """Which of ``PRIORITIES`` a lane's priority belongs to: 0, 1 or 2."""
    return 0 if priority < 0 else 1 if priority == 0 else 2


class BrokerAway(PenstockError):
    """The broker cannot be reached or does not take messages now. Worth another try; nothing is lost."""

    def __init__(self, *, transport: str, address: str, cause: str) -> None:
        self.transport = transport
        self.cause = cause
        self.sentence = f"The broker {transport} at {address} does not answer: {cause}."
        self.next_step = f"Start the broker, or correct PENSTOCK_{transport.upper()}_URL."
        super().__init__(
            f"{self.sentence} Nothing is lost: after PENSTOCK_BROKER_PATIENCE_SECONDS its tasks are claimed from"
            " PostgreSQL until it is back."
        )


class BrokerRefused(PenstockError):
    """The broker answers, and says no: wrong credentials, a queue of another kind. Needs a person."""

    def __init__(self, *, transport: str, address: str, cause: str, next_step: str) -> None:
        self.transport = transport
        self.cause = cause
        self.sentence = f"The broker {transport} at {address} refuses: {cause}."
        self.next_step = next_step
        super().__init__(f"{self.sentence} {next_step}")


class Outgoing(NamedTuple):
    """``queue``: the stage's place in the broker; ``urgency``: index into ``PRIORITIES``."""

    queue: str
    urgency: int
    raw: bytes


@dataclass(slots=True, eq=False)
class Message:
    """As it came. ``token`` is the transport's own handle; ``deliveries``: 1 the first time, more after a consumer
    that died with it (where the broker counts them)."""

    queue: str
    urgency: int
    raw: bytes
    token: Any
    deliveries: int = 1


Store = Callable[[Sequence[DeadMessage]], Awaitable[None]]
DEAD_PORTION = 50
"""Dead messages that are stored and forgotten at a time: they may be large, and one statement has to stay small."""

MOST_DEAD = 100_000
"""A dead-letter queue that nobody empties keeps about so many; the oldest go first."""


class Consumer(ABC):
    """Receives the messages of one queue for one runner. Reconnects by itself: while the broker is away ``receive``
    raises ``BrokerAway`` at once or after ``wait_seconds``, and works again when it is back."""

    @abstractmethod
    async def receive(self, most: int, wait_seconds: float) -> list[Message]:
        """Up to ``most`` messages, more urgent ones first; waits for the first one, empty when none came in time.
        Also takes over what consumers left behind that are gone."""

    @abstractmethod
    async def acknowledge(self, messages: Sequence[Message]) -> None:
        """They are done with and go away. An unknown or old one is ignored; a broker that is away as well."""

    @abstractmethod
    async def bury(self, message: Message, reason: str, kind: str = "other") -> None:
        """To the broker's dead-letter queue, with its bytes, and away from here. ``kind``: see ``DeadMessage``."""

    @abstractmethod
    async def park(self, message: Message) -> None:
        """Not for us, perhaps for a newer worker: put aside where consumers that start later look once."""

    async def resize(self, prefetch: int) -> None:  # noqa: B027
        """Another prefetch from now on. Nothing to do where messages are asked for instead of pushed."""

    @abstractmethod
    async def close(self) -> None:
        """What was received and not acknowledged goes back at once."""

    @property
    @abstractmethod
    def lost_count(self) -> int:
        """How often the queue was found missing and made anew: what was in it is gone, and has to be sent again."""


class Transport(ABC):
    """One connection to a broker, shared by the consumers and the publisher of a process."""

    name: ClassVar[str]

    @abstractmethod
    async def open(self) -> None:
        """Raises ``BrokerAway`` or ``BrokerRefused``."""

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def publish(self, batch: Sequence[Outgoing]) -> None:
        """Returns when the broker has confirmed every message (and stored it where it stores at all). On any doubt
        it raises, and the caller sends the whole batch again. Makes queues that are missing."""

    @abstractmethod
    async def depth(self, queue: str) -> int:
        """Messages in the queue's three parts that no consumer was given yet, as far as the broker can tell."""

    @abstractmethod
    async def consumer(self, queue: str, *, name: str, prefetch: int, idle_seconds: float) -> Consumer:
        """``name``: of the runner, for people. ``prefetch``: most messages it may hold unacknowledged beyond those it
        was given. ``idle_seconds``: a consumer silent for so long is gone."""

    @abstractmethod
    async def drain_dead(self, most: int, store: Store) -> int:
        """Takes up to ``most`` messages out of the dead-letter queue and returns how many. ``store`` is given a portion
        at a time, which goes when it returned; where it raises, that portion stays. One may come twice."""

    @abstractmethod
    async def remove(self, queue: str) -> None:
        """The queue with all that is in it; for tests and for stages that are gone."""
