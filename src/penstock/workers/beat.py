"""When a loop with a fixed interval is due again.

The interval is kept from begin to begin, so work inside the loop does not make it slower. A loop that was late does not
run twice in a row to catch up: beats that were missed are left out.
"""

import time
from collections.abc import Callable


class Beat:
    """The first beat is one interval after the start, unless ``at_once``."""

    __slots__ = ("_clock", "_due", "every_seconds")

    def __init__(
        self, every_seconds: float, *, at_once: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.every_seconds = every_seconds
        self._clock = clock
        self._due = clock() + (0.0 if at_once else every_seconds)

    def pause_seconds(self) -> float:
        """How long to wait for the next beat. Asked once per beat."""
        now, due = self._clock(), self._due
        if now <= due:
            self._due = due + self.every_seconds
            return due - now
        missed = int((now - due) / self.every_seconds) + 1
        self._due = due + (missed + 1) * self.every_seconds
        return due + missed * self.every_seconds - now
