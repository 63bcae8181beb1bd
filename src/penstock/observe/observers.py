"""The usual subscribers. Apart from the others, because logging is slow to import and an application that only enqueues
needs none of it."""

from collections.abc import Sequence

from penstock.config import Settings
from penstock.events import Subscriber
from penstock.observe.counter import Counter
from penstock.observe.logs import log_subscriber


def observers(settings: Settings) -> tuple[Counter, Sequence[Subscriber]]:
    """The usual two, for a process of the fleet."""
    counter = Counter()
    return counter, (counter.on_event, log_subscriber(settings, counter.labels))
