"""Stops asking a provider that does not answer, and tries again with a single question. Pure: time is given."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """Closed: questions go through. Open after ``limit`` failures in a row. After ``pause_seconds`` half open: one
    question goes through, and its answer closes the circuit or opens it again."""

    limit: int
    pause_seconds: float
    failures: int = 0
    opened_at: float | None = None
    probing_since: float | None = None

    def wait_seconds(self, now: float) -> float:
        """0: ask. A probe that never came back is forgotten after a pause."""
        since = self.opened_at if self.probing_since is None else self.probing_since
        if since is None or self.opened_at is None:
            return 0.0
        return max(since + self.pause_seconds - now, 0.0)

    def asked(self, now: float) -> "Circuit":
        """A question goes out."""
        return self if self.opened_at is None else replace(self, probing_since=now)

    def succeeded(self) -> "Circuit":
        return replace(self, failures=0, opened_at=None, probing_since=None)

    def failed(self, now: float) -> "Circuit":
        failures = self.failures + 1
        opens = self.opened_at is not None or failures >= self.limit
        return replace(self, failures=failures, opened_at=now if opens else None, probing_since=None)
