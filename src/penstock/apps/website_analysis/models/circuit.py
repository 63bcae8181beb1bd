"""Stops calling an endpoint that is down, and tries it again with a single call. Time is given."""


class Circuit:
    """Open after ``limit`` failures in a row; after ``pause_seconds`` one call goes through and decides.

    One per endpoint and process: all sites of the process share what one of them found out.
    """

    def __init__(self, *, limit: int, pause_seconds: float) -> None:
        self._limit = limit
        self._pause_seconds = pause_seconds
        self._next_at: float | None = None
        self.failures = 0

    def wait_seconds(self, now: float) -> float:
        """0: a call may go out."""
        return 0.0 if self._next_at is None else max(self._next_at - now, 0.0)

    def calls(self, now: float) -> None:
        """A call goes out. Where the circuit is open it is the probe: the others wait for what it finds."""
        if self._next_at is not None:
            self._next_at = now + self._pause_seconds

    def answered(self) -> None:
        self.failures = 0
        self._next_at = None

    def failed(self, now: float) -> None:
        self.failures += 1
        if self.failures >= self._limit:
            self._next_at = now + self._pause_seconds
