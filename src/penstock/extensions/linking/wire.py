"""Projects and their runs, records, their candidates and what people decide about them, on the wire."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic.alias_generators import to_camel

from penstock.console.http.parameters import COUNTED, STORABLE, Flag, Moment, Name, Number
from penstock.console.http.wire import MOST_ID, Wire, named
from penstock.extensions.linking.candidates import Candidate
from penstock.extensions.linking.decisions import Decision, Step
from penstock.extensions.linking.matching import Scope
from penstock.extensions.linking.progress import Progress
from penstock.extensions.linking.project import MOST_TYPES, Options, Project, Role, RoleName
from penstock.extensions.linking.record import Record, RecordState, StateName
from penstock.extensions.linking.records import Failure
from penstock.extensions.linking.review import LONGEST_NOTE, Seen
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.shared import RecordLinking

_MOST_ROWS = 1_000_000
ProjectId = Annotated[
    int, Path(alias="projectId", ge=1, le=MOST_ID, description="As `POST /api/projects` answered it.")
]
Share = Annotated[Number, Field(ge=0, le=1)]
Weight = Annotated[Number, Field(ge=0, le=100)]
MOST_NUMBER = 2**31 - 1
RecordNumber = Annotated[int, Path(ge=1, le=MOST_NUMBER, description="The row of the dataset; 1 is the first.")]
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=STORABLE)]
Note = Annotated[str, StringConstraints(max_length=LONGEST_NOTE, pattern=STORABLE)]
StateOfRecord = Annotated[StateName, BeforeValidator(named)]
_DIGITS = 4
Score = Annotated[float, AfterValidator(lambda value: round(value, _DIGITS))]


class RoleBody(Wire):
    """`property`: of the source, such as P569; for the role `property` only."""

    role: RoleName
    property: Name | None = None


Roles = Annotated[dict[Name, RoleBody], Field(max_length=1000)]


def stored_roles(given: Roles | None) -> dict[str, Role] | None:
    return None if given is None else {name: Role(role=one.role, property=one.property) for name, one in given.items()}


class WeightsBody(Wire):
    """How much each feature counts; only their ratios matter. What is left out has its default."""

    name: Weight | None = None
    type: Weight | None = None
    identifier: Weight | None = None
    date: Weight | None = None
    place: Weight | None = None
    item: Weight | None = None
    url: Weight | None = None
    number: Weight | None = None
    text: Weight | None = None
    silence: Share | None = None
    properties: Annotated[dict[Name, Weight], Field(max_length=200)] | None = Field(
        None, description="A weight of its own for a property, such as P569; 0 leaves it out."
    )


class OptionsBody(Wire):
    """How a project is matched. What is left out stays as it is; null takes it back to the settings."""

    languages: Annotated[list[Name], Field(min_length=1, max_length=10)] | None = Field(
        None, description="Asked and compared in this order."
    )
    types: Annotated[list[Name], Field(max_length=MOST_TYPES)] | None = Field(
        None, description="What is wanted, such as Q5, where no column says it."
    )
    candidates: Annotated[int, Field(ge=1, le=50), COUNTED] | None = None
    accept_score: Share | None = Field(None, description="From here on a match is accepted by itself …")
    accept_gap: Share | None = Field(None, description="… if the second one is that far behind.")
    weights: WeightsBody | None = None

    def chosen(self) -> dict[str, Any]:
        """What was named, null as None."""
        given = self.model_dump(exclude_unset=True)
        if self.weights is not None:
            given["weights"] = self.weights.model_dump(exclude_none=True)
        return given


class NewProjectFields(Wire):
    name: Name
    source: Literal["wikidata", "reconciliation", "sample"] = "wikidata"
    roles: Roles | None = Field(None, description="Column → what it is. Left out: as the names of the columns suggest.")
    options: OptionsBody | None = None


class NewProjectFile(NewProjectFields):
    form: Literal["exact", "safe"] = "exact"


class NewProject(NewProjectFields):
    """`rows`: objects of column and value; up to 32 MiB. A file may be sent in their place, as a form."""

    rows: Annotated[list[dict[str, Any]], Field(max_length=_MOST_ROWS)]


class ChangedProject(Wire):
    name: Name | None = None
    roles: Roles | None = None
    options: OptionsBody | None = None


class ProjectBody(Wire):
    """`options`: whole, with what the settings say where the project says nothing. `running`: records are being
    matched; `jobId` is the job of the last run."""

    project_id: int = Field(validation_alias="id")
    name: str
    owner: str
    source: str
    columns: list[str]
    roles: dict[str, RoleBody]
    options: dict[str, Any]
    running: bool
    job_id: int | None
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    updated_at: datetime


def _named(counts: dict[RecordState, int]) -> dict[str, int]:
    return {state.name: count for state, count in counts.items()}


class ProgressBody(Wire):
    """`requestsLeft`: what is known by now; searches may find more to fetch. `cause`: what holds it up. `failures`: of
    a run that ended, why records are in ERROR."""

    counts: Annotated[dict[str, int], BeforeValidator(_named)] = Field(
        description="Every state, also those of which there is none."
    )
    total: int
    ended: int = Field(description="Records that no run works on.")
    requests_done: int
    requests_left: int
    per_second: Annotated[float, AfterValidator(lambda value: round(value, 2))] = Field(
        description="Requests, over the last ten seconds."
    )
    eta_seconds: Annotated[float, AfterValidator(lambda value: round(value, 1))] | None
    cause: str | None
    failures: list[Failure] = Field(description="The most frequent reasons, with how many records each has.")


class ProjectDetail(ProjectBody):
    progress: ProgressBody


class ProjectPage(Wire):
    items: list[ProjectBody]
    next_cursor: str | None


class MatchBody(Wire):
    scope: Scope = Field(
        default="new",
        description="`new`: never matched, or cancelled; `unmatched`: without a candidate; `changed`: what is asked "
        "for them is not what it was; `failed`; `all`. What a person decided is left by every scope.",
    )


class StartedBody(Wire):
    """`jobId` null: no record had to be asked for. `queries`: distinct names."""

    job_id: int | None
    records: int
    queries: int


class CancelledBody(Wire):
    cancelled: int


class RerankBody(Wire):
    """What is given is stored first; left out: as the project has it."""

    weights: WeightsBody | None = None
    accept_score: Share | None = None
    accept_gap: Share | None = None


def project_body(linking: RecordLinking, project: Project) -> ProjectBody:
    options = options_body(linking.options_of(project))
    return ProjectBody.model_validate(project).model_copy(update={"options": options})


def options_body(options: Options) -> dict[str, Any]:
    """Whole, with the weights that are not named."""
    shown = {to_camel(name): value for name, value in asdict(options).items()}
    return shown | {"weights": asdict(Weights.from_options(options.weights))}


def project_detail(linking: RecordLinking, project: Project, seen: Progress) -> ProjectDetail:
    body = project_body(linking, project)
    return ProjectDetail(**body.model_dump(), progress=ProgressBody.model_validate(seen))


class RecordBody(Wire):
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
