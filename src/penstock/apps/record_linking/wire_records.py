"""Records, their candidates, and what people decide about them, on the wire."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path
from pydantic import Field, StringConstraints

from penstock.apps.record_linking.review import LONGEST_NOTE
from penstock.apps.record_linking.wire import Share
from penstock.service.parameters import COUNTED, STORABLE, Flag, Moment
from penstock.service.wire import Wire

MOST_NUMBER = 2**31 - 1
State = Literal["NEW", "QUEUED", "MATCHING", "REVIEW", "ACCEPTED", "REJECTED", "NO_CANDIDATE", "ERROR", "CANCELLED"]
RecordNumber = Annotated[int, Path(ge=1, le=MOST_NUMBER, description="The row of the dataset; 1 is the first.")]
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=STORABLE)]
Note = Annotated[str, StringConstraints(max_length=LONGEST_NOTE, pattern=STORABLE)]


class RecordBody(Wire):
    """`entity`: what it was matched with, or the best candidate while it waits for review. `byHand`: somebody gave an
    id that was no candidate, so it has no score. `decidedBy` null: by the scores alone."""

    number: int
    cells: dict[str, str]
    state: State
    entity: str | None
    label: str | None
    score: float | None
    gap: float | None
    by_hand: bool
    decided_by: str | None
    decided_at: datetime | None
    note: str | None
    error: str | None = Field(description="Why it failed, or why there is no candidate.")
    updated_at: datetime


class RecordPage(Wire):
    """`startCursor` and `endCursor` are at its ends, for `before` and `after`; null only of an empty page.
    `previousCursor`, `nextCursor` null: there is none."""

    items: list[RecordBody]
    next_cursor: str | None
    previous_cursor: str | None
    start_cursor: str | None
    end_cursor: str | None


class ScoreStep(Wire):
    """How many records of each state have a score from `fromScore` to `toScore`."""

    from_score: float
    to_score: float
    review: int
    accepted: int
    no_candidate: int


class ScoresBody(Wire):
    """`complete` false: there are more, and the first ones of each state were looked at. `acceptScore`, `acceptGap`:
    from where on the project accepts by itself."""

    steps: list[ScoreStep]
    looked_at: int
    complete: bool
    accept_score: float
    accept_gap: float


class PartBody(Wire):
    """One step of the waterfall; `points` of all add up to the score. `value`: 1 agrees, 0 contradicts."""

    feature: str
    weight: float
    value: float | None
    points: float
    said: str


class CandidateBody(Wire):
    rank: int
    entity: str
    label: str
    description: str | None
    score: float
    parts: list[PartBody]


class RecordDetail(RecordBody):
    query: str | None = Field(description="What the source was asked.")
    language: str | None
    candidates: list[CandidateBody]


class SeenBody(Wire):
    """What you had before you: a decision that somebody overtook is answered 409 with what they decided. `entity`: what
    was shown as its match; to accept needs it, unless the body names what to accept."""

    state: State
    decided_at: Moment | None = None
    entity: EntityId | None = None


class DecideBody(Wire):
    seen: SeenBody | None = None
    note: Note | None = None


class AcceptBody(DecideBody):
    entity: EntityId | None = Field(
        default=None,
        description="Left out: what `seen` names, or the best candidate. An id that is no candidate is taken by hand.",
    )


class DecidedBody(Wire):
    """`batch` undoes it; null: it was so already."""

    record: RecordBody
    batch: UUID | None


class NoteBody(Wire):
    note: Note | None = Field(description="Null or empty: it goes.")


class AcceptManyBody(Wire):
    min_score: Share
    min_gap: Share | None = Field(None, description="How far ahead of the second; without it, as the project accepts.")
    dry_run: Flag = False


class StepBody(Wire):
    """Scores from `fromScore` to `toScore`. `taken`: what the threshold takes of the `waiting`."""

    from_score: float
    to_score: float
    waiting: int
    taken: int


class AcceptedManyBody(Wire):
    """`examples`: what it takes, nearest to the threshold; `below`: what it leaves, nearest first. `histogram`: before
    anything was accepted."""

    accepted: int
    waiting: int = Field(description="Records that waited for review.")
    dry_run: bool
    batch: UUID | None
    min_gap: float
    examples: list[RecordBody]
    below: list[RecordBody]
    histogram: list[StepBody]


class UndoBody(Wire):
    """One of the two."""

    batch: UUID | None = None
    record: Annotated[int, Field(ge=1, le=MOST_NUMBER), COUNTED] | None = Field(
        None, description="The number of a record, whose last decision is undone."
    )


class UndoneBody(Wire):
    """`changedSince`: records that somebody changed after the decision; they are left."""

    undone: int
    changed_since: int


class DecisionBody(Wire):
    decision_id: int
    batch: UUID
    move: str
    from_state: State
    from_entity: str | None
    to_state: State
    to_entity: str | None
    by: str
    at: datetime
    undone_at: datetime | None


class DecisionPage(Wire):
    items: list[DecisionBody]
    next_cursor: str | None
