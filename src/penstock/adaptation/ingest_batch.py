"""How many rows to store at once: doubled while the database answers quickly, halved when it does not.

Pure: each batch or error gives a new value and its reason. A size at which the database was slow is tried again
only after a while of quick batches, and after a longer one each time it was slow again; so the size settles instead of
swinging.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.config import Settings

_REMEMBERED = 20
# Waiting longer than this for a connection means that others need the database now.
_POOL_WAIT_MS = 50.0
_MOST_PATIENCE = 64
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestBounds:
    min_rows: int
    max_rows: int
    max_bytes: int
    p50_ms: float
    p95_ms: float

    @classmethod
    def of(cls, settings: Settings) -> "IngestBounds":
        return cls(
            min_rows=settings.ingest_min_rows,
            max_rows=settings.ingest_max_rows,
            max_bytes=settings.ingest_max_batch_bytes,
            p50_ms=settings.db_p50_ms,
            p95_ms=settings.db_p95_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestBatch:
    """``rows`` is the size of the next batch. Whoever fills it also stops at ``max_bytes``."""

    bounds: IngestBounds
    rows: int
    reason: str
    # How long the last batches of about this size took.
    recent_ms: tuple[float, ...] = ()
    # The size that was too much, how many quick batches it takes to try it again, and how many there were.
    ceiling_rows: int | None = None
    patience: int = 1
    calm: int = 0
    errors: int = 0

    @classmethod
    def start(cls, settings: Settings) -> "IngestBatch":
        bounds = IngestBounds.of(settings)
        return cls(bounds=bounds, rows=bounds.min_rows, reason="the first batch: the least")

    @property
    def max_bytes(self) -> int:
        return self.bounds.max_bytes

    def after_batch(self, rows: int, bytes: int, took_ms: float, pool_wait_ms: float) -> "IngestBatch":
        """The batch was stored. ``took_ms`` is the database's part, ``pool_wait_ms`` the wait for a connection."""
        recent = (*self.recent_ms, took_ms)[-_REMEMBERED:]
        seen = replace(self, recent_ms=recent, errors=0)
        if pool_wait_ms > _POOL_WAIT_MS:
            return seen._smaller(f"{pool_wait_ms:.0f} ms of waiting for a connection")
        if (slow_ms := _p95(recent)) > self.bounds.p95_ms:
            return seen._smaller(f"slow batches take {slow_ms:.0f} ms, above {self.bounds.p95_ms:g}")
        fits = self._fits(rows, bytes)
        if self.rows > fits:
            return replace(seen, rows=fits, reason=f"{fits} rows fill {self.bounds.max_bytes:,} bytes")
        if rows < self.rows:
            return replace(seen, reason="the batch was not full, which says nothing about larger ones")
        return seen._after_a_full_one(took_ms, fits)

    def after_error(self, random: Callable[[], float]) -> tuple["IngestBatch", float]:
        """The batch failed: half the size, and how many seconds to wait. ``random`` (0 to 1) makes full jitter, so
        that many who failed together do not come back together."""
        most = min(_FIRST_PAUSE_SECONDS * 2 ** min(self.errors, 30), _LONGEST_PAUSE_SECONDS)
        failed = replace(self, errors=self.errors + 1)
        return failed._smaller(f"error {failed.errors} in a row"), random() * most

    def _after_a_full_one(self, took_ms: float, fits: int) -> "IngestBatch":
        calm = replace(self, calm=self.calm + 1 if took_ms <= self.bounds.p95_ms else 0)
        if self.ceiling_rows is not None and self.rows >= self.ceiling_rows and calm.calm >= self.patience:
            # What was too much is not any more.
            calm = replace(calm, ceiling_rows=None, patience=1)
        wanted = min(self.rows * 2, self.bounds.max_rows, fits)
        if wanted <= self.rows:
            at = "the most" if self.rows >= self.bounds.max_rows else f"{self.bounds.max_bytes:,} bytes are full"
            return replace(calm, reason=f"{took_ms:.0f} ms for a batch: {at}")
        foreseen_ms = took_ms * wanted / self.rows
        if took_ms >= self.bounds.p50_ms or foreseen_ms > self.bounds.p95_ms:
            return replace(calm, reason=f"{took_ms:.0f} ms for a batch: large enough")
        ceiling = calm.ceiling_rows
        if ceiling is not None and wanted >= ceiling and calm.calm < self.patience:
            return replace(calm, reason=f"{ceiling:,} rows were too much; {calm.calm} of {self.patience} quick batches")
        return replace(calm, rows=wanted, calm=0, recent_ms=(), reason=f"{took_ms:.0f} ms for a batch: room for more")

    def _smaller(self, why: str) -> "IngestBatch":
        patience = (
            self.patience if self.ceiling_rows is not None and self.rows < self.ceiling_rows else self.patience * 2
        )
        return replace(
            self,
            rows=max(min(self.bounds.min_rows, self.rows), self.rows // 2),
            reason=why,
            recent_ms=(),
            ceiling_rows=max(self.rows, self.bounds.min_rows + 1),
            patience=min(patience, _MOST_PATIENCE),
            calm=0,
        )

    def _fits(self, rows: int, bytes: int) -> int:
        """How many rows like these the bytes allow; at least one, or a single huge row could never be stored."""
        return max(1, int(self.bounds.max_bytes * rows / bytes)) if rows > 0 and bytes > 0 else self.bounds.max_rows


def _p95(recent_ms: tuple[float, ...]) -> float:
    return sorted(recent_ms)[max(0, int(len(recent_ms) * 0.95 + 0.5) - 1)]
