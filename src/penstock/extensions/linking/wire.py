"""Projects and their runs on the wire."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from penstock.console.http.parameters import COUNTED, Name, Number
from penstock.console.http.wire import MOST_ID, Wire
from penstock.extensions.linking.progress import Progress
from penstock.extensions.linking.project import MOST_TYPES, Options, Project, Role
from penstock.extensions.linking.records import Failure
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.states import RecordState

_MOST_ROWS = 1_000_000
ScopeName = Literal["all", "new", "unmatched", "changed", "failed"]
ProjectId = Annotated[
    int, Path(alias="projectId", ge=1, le=MOST_ID, description="As `POST /api/projects` answered it.")
]
Share = Annotated[Number, Field(ge=0, le=1)]
Weight = Annotated[Number, Field(ge=0, le=100)]


class View(Wire):
    """Made of a record with the same fields: ``model_validate(record)``."""

    model_config = ConfigDict(from_attributes=True)


class RoleBody(View):
    """`property`: of the source, such as P569; for the role `property` only."""

    role: Literal["name", "alias", "type", "language", "property"]
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


class ProjectBody(View):
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


class ProgressBody(View):
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
    scope: ScopeName = Field(
        default="new",
        description="`new`: never matched, or cancelled; `unmatched`: without a candidate; `changed`: what is asked "
        "for them is not what it was; `failed`; `all`. What a person decided is left by every scope.",
    )


class StartedBody(View):
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
    return {
        "languages": list(options.languages),
        "types": list(options.types),
        "candidates": options.candidates,
        "acceptScore": options.accept_score,
        "acceptGap": options.accept_gap,
        "weights": asdict(Weights.from_options(options.weights)),
    }


def project_detail(linking: RecordLinking, project: Project, seen: Progress) -> ProjectDetail:
    body = project_body(linking, project)
    return ProjectDetail(**body.model_dump(), progress=ProgressBody.model_validate(seen))
