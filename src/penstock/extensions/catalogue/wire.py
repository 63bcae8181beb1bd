"""Catalogues on the wire."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from penstock.console.http.job_wire import Counts
from penstock.console.http.wire import MOST_ID, QueueState, Status, Wire
from penstock.extensions.catalogue.catalogues import AskedQuestion, ProviderAnswers

ItemId = Annotated[int, Path(alias="itemId", ge=1, le=MOST_ID)]


class CatalogueBody(Wire):
    """`answers` are of the newest questions only, `answersOf` at most."""

    job_id: int
    name: str | None
    owner: str | None
    type: str | None
    file_name: str | None
    created_at: datetime
    queue_state: QueueState
    counts: Counts
    total_items: int
    looks_again_at: datetime | None = Field(description="When the next unmatched row is retried.")
    columns: list[str]
    result_columns: list[str]
    roles: dict[str, str] = Field(description="Role: heading of the column that has it.")
    providers: list[str] = Field(description="As they are asked in the first attempt.")
    providers_chosen: bool = Field(description="Whether the job says so, or this is the usual order.")
    answers: list[ProviderAnswers]
    answers_of: int
    answers_complete: bool = Field(description="Whether those are all questions that are kept.")


class CataloguePage(Wire):
    items: list[CatalogueBody]
    next_cursor: str | None


class KeyBody(Wire):
    """A variable that a header is filled from. `present`: in the environment of the service."""

    header: str
    variable: str
    present: bool


class LimitBody(Wire):
    key: str
    per_second: float | None
    available: int | None
    blocked_seconds: float
    blocked_reason: str | None


class ProviderBody(Wire):
    """`circuitFailures` in a row close it for `circuitSeconds`, in each worker by itself."""

    name: str
    about: str
    ready: bool
    problem: str | None
    settings: list[str] = Field(description="Where it is set up.")
    address: str | None
    asks_for: list[str] = Field(description="What a question has to have for it.")
    keys: list[KeyBody]
    per_second: float | None
    concurrency: int | None
    circuit_failures: int | None
    circuit_seconds: float | None
    cost: float
    limit: LimitBody | None
    products_estimate: int | None
    lately: ProviderAnswers | None = Field(description="Of the newest 1,000 questions of everybody.")


class ProviderList(Wire):
    """In the usual order; a job may have another one in its option `providers`."""

    items: list[ProviderBody]


class CellBody(Wire):
    column: str
    value: str
    role: str | None


class FieldBody(Wire):
    """A value of the result, and where it came from."""

    column: str
    value: Any
    provider: str | None
    query: str | None
    at: datetime | None


class ProvenanceBody(Wire):
    """`questions`: newest first, at most 200."""

    item_id: int
    job_id: int
    row: int | None
    status: Status
    attempts: int
    updated_at: datetime
    image: str | None
    cells: list[CellBody]
    understood: dict[str, Any]
    problems: dict[str, str]
    match: str | None
    score: float | None
    fields: list[FieldBody]
    reason: str | None
    questions: list[AskedQuestion]
    more_questions: bool
