"""Whether a broker answers, as one process sees it, and for how long it has not."""

import time
from collections.abc import Callable

from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.events import Events

_PAUSES_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
# The sentence goes into every heartbeat.
_LONGEST_SENTENCE = 300


class BrokerWatch:
    """Tells once that it went and once that it is back."""

    def __init__(self, events: Events, transport: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._events = events
        self._transport = transport
        self._clock = clock
        self._since: float | None = None
        self._tries = 0
        self.problem: str | None = None
        """The last sentence about the broker, while it is away."""
        self.next_step: str | None = None
        self.refused = False
        """It answers and says no, so waiting does not help."""

    @property
    def away_seconds(self) -> float:
        return 0.0 if self._since is None else self._clock() - self._since

    def failed(self, error: BrokerAway | BrokerRefused) -> float:
        """Returns how long to wait before the next try."""
        self.problem, self.next_step = error.sentence[:_LONGEST_SENTENCE], error.next_step[:_LONGEST_SENTENCE]
        self.refused = isinstance(error, BrokerRefused)
        if self._since is None:
            self._since = self._clock()
            if isinstance(error, BrokerRefused):
                self._events.emit("broker.refused", transport=self._transport, error=str(error))
            else:
                self._events.emit("broker.away", transport=self._transport, error=str(error))
        pause = _PAUSES_SECONDS[min(self._tries, len(_PAUSES_SECONDS) - 1)]
        self._tries += 1
        return pause

    def works(self) -> None:
        if self._since is not None:
            self._events.emit("broker.back", transport=self._transport, away_seconds=round(self.away_seconds, 1))
            self._since = self.problem = self.next_step = None
            self.refused = False
        self._tries = 0
