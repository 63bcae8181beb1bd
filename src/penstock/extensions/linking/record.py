"""A record: a row of the dataset, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from penstock.extensions.linking.scoring.score import Part
from penstock.extensions.linking.states import RecordState
from penstock.insight.record import WIRE


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """``parts``: the steps of the waterfall."""

    __pydantic_config__ = WIRE

    rank: int
    entity: str
    label: str
    description: str | None
    score: float
    parts: tuple[Part, ...]
