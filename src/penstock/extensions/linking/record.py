"""A record: a row of the dataset, where it stands, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Literal

StateName = Literal["NEW", "QUEUED", "MATCHING", "REVIEW", "ACCEPTED", "REJECTED", "NO_CANDIDATE", "ERROR", "CANCELLED"]


class RecordState(IntEnum):
    """NEW → QUEUED (its name is being searched) → MATCHING (what was found is being fetched and scored) → an ending.
    The numbers are those of the table."""

    NEW = 0
    QUEUED = 1
    MATCHING = 2
    REVIEW = 3
    ACCEPTED = 4
    REJECTED = 5
    NO_CANDIDATE = 6
    ERROR = 7
    CANCELLED = 8


# A run still works on these.
UNDER_WAY = (RecordState.QUEUED, RecordState.MATCHING)
# What scoring alone decides, as long as no person has: these are scored again when weights change.
SCORED = (RecordState.REVIEW, RecordState.ACCEPTED, RecordState.NO_CANDIDATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``number``: row of the file, 1 the first. ``entity``: accepted, or the best candidate while it waits for review.
    ``decided_by`` None: by itself. ``error``: why it failed, or why there is no candidate."""

    id: int
    project_id: int
    number: int
    cells: Mapping[str, str]
    state: RecordState
    run: int
    query: str | None
    language: str | None
    entity: str | None
    label: str | None
    score: float | None
    gap: float | None
    decided_by: str | None
    decided_at: datetime | None
    note: str | None
    error: str | None
    updated_at: datetime

    @property
    def by_hand(self) -> bool:
        """Accepted under an id that was no candidate, which has no score."""
        return self.state is RecordState.ACCEPTED and self.score is None

    @property
    def told_error(self) -> str | None:
        """A reason is told only where it says why the record is what it is."""
        return self.error if self.state in (RecordState.ERROR, RecordState.NO_CANDIDATE) else None
