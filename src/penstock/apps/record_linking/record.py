"""A record: a row of the dataset, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.apps.record_linking.states import RecordState


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """``parts``: the waterfall as stored, a mapping per feature (feature, weight, value, points, said)."""

    rank: int
    entity: str
    label: str
    description: str | None
    score: float
    parts: tuple[Mapping[str, Any], ...]
