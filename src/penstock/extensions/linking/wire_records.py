"""Records, their candidates, and what people decide about them, on the wire."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from penstock.console.http.parameters import COUNTED, STORABLE, Flag, Moment
from penstock.console.http.wire import Wire
from penstock.extensions.linking.decisions import Decision, Step
from penstock.extensions.linking.record import Candidate, Record
from penstock.extensions.linking.review import LONGEST_NOTE, Seen
from penstock.extensions.linking.states import RecordState, StateName
from penstock.extensions.linking.wire import Share, View

MOST_NUMBER = 2**31 - 1
RecordNumber = Annotated[int, Path(ge=1, le=MOST_NUMBER, description="The row of the dataset; 1 is the first.")]
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=STORABLE)]
Note = Annotated[str, StringConstraints(max_length=LONGEST_NOTE, pattern=STORABLE)]
StateOfRecord = Annotated[
    StateName, BeforeValidator(lambda state: state.name if isinstance(state, RecordState) else state)
]
_DIGITS = 4
Score = Annotated[float, AfterValidator(lambda value: round(value, _DIGITS))]


class RecordBody(View):
    """`entity`: what it was matched with, or the best candidate while it waits for review. `byHand`: somebody gave an
    id that was no candidate, so it has no score. `decidedBy` null: by the scores alone."""

    number: int
    cells: dict[str, str]
    state: StateOfRecord
    entity: str | None
    label: str | None
    score: Score | None
    gap: Score | None
    by_hand: bool
    decided_by: str | None
    decided_at: datetime | None
    note: str | None
    error: str | None = Field(validation_alias="told_error", description="Why it failed, or why there is no candidate.")
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


class RecordDetail(RecordBody):
    query: str | None = Field(description="What the source was asked.")
    language: str | None
    candidates: list[Candidate]


class SeenBody(Wire):
    """What you had before you: a decision that somebody overtook is answered 409 with what they decided. `entity`: what
    was shown as its match; to accept needs it, unless the body names what to accept."""

    state: StateName
    decided_at: Moment | None = None
    entity: EntityId | None = None

    def seen(self) -> Seen:
        return Seen(state=RecordState[self.state], decided_at=self.decided_at, entity=self.entity)


class DecideBody(Wire):
    seen: SeenBody | None = None
    note: Note | None = None


class AcceptBody(DecideBody):
    entity: EntityId | None = Field(
        default=None,
        description="Left out: what `seen` names, or the best candidate. An id that is no candidate is taken by hand.",
    )


class DecidedBody(View):
    """`batch` undoes it; null: it was so already."""

    record: RecordBody
    batch: UUID | None


class NoteBody(Wire):
    note: Note | None = Field(description="Null or empty: it goes.")


class AcceptManyBody(Wire):
    min_score: Share
    min_gap: Share | None = Field(None, description="How far ahead of the second; without it, as the project accepts.")
    dry_run: Flag = False


class AcceptedManyBody(View):
    """`examples`: what it takes, nearest to the threshold; `below`: what it leaves, nearest first. `histogram`: before
    anything was accepted."""

    accepted: int
    waiting: int = Field(description="Records that waited for review.")
    dry_run: bool
    batch: UUID | None
    min_gap: float
    examples: list[RecordBody]
    below: list[RecordBody]
    histogram: list[Step]


class UndoBody(Wire):
    """One of the two."""

    batch: UUID | None = None
    record: Annotated[int, Field(ge=1, le=MOST_NUMBER), COUNTED] | None = Field(
        None, description="The number of a record, whose last decision is undone."
    )


class DecisionPage(Wire):
    items: list[Decision]
    next_cursor: str | None


def record_detail(record: Record, found: Sequence[Candidate]) -> RecordDetail:
    told = RecordBody.model_validate(record).model_dump(by_alias=False)
    return RecordDetail(**told, query=record.query, language=record.language, candidates=shown(found))


def shown(found: Sequence[Candidate]) -> list[Candidate]:
    """With no more digits than a score means."""
    return [replace(one, score=round(one.score, _DIGITS)) for one in found]
