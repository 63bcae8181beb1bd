"""What listens to the engine's events: one subscriber logs, one counts."""

from collections.abc import Sequence

from penstock.config import Settings
from penstock.engine.events import Subscriber
from penstock.engine.observe.counter import Counter
from penstock.engine.observe.logs import log_subscriber


def observers(settings: Settings) -> tuple[Counter, Sequence[Subscriber]]:
    """The usual two, for a process of the fleet."""
    counter = Counter()
    return counter, (counter.on_event, log_subscriber(settings, counter.labels))


__all__ = ["Counter", "observers"]
