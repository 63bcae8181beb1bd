"""Catalogues on the wire."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from penstock.console.http.job_wire import Counts
from penstock.console.http.wire import MOST_ID, QueueState, Status, Wire
from penstock.extensions.catalogue.catalogues import AskedQuestion, ProviderAnswers, StoredCatalogue
from penstock.extensions.catalogue.offer import roles_by_heading
from penstock.insight.task_views import TaskDetails

ItemId = Annotated[int, Path(alias="itemId", ge=1, le=MOST_ID)]
_ABOUT_THE_MATCH = ("Match", "Score")


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
    per_second: float | None = Field(validation_alias="rate")
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


def provenance_of(
    task: TaskDetails, catalogue: StoredCatalogue, questions: Sequence[AskedQuestion], *, most: int
) -> ProvenanceBody:
    """``task`` as the engine shows it. Results of other versions may lack any part of what is looked for."""
    given, result = _mapping(task.input), _mapping(task.result)
    status: Any = task.state.name
    metadata = catalogue.metadata
    columns, sources = _mapping(result.get("columns")), _mapping(result.get("provenance"))
    normalized = dict(_mapping(result.get("normalized")))
    problems = _mapping(normalized.pop("problems", None))
    image, row = _mapping(given.get("image")), given.get("row")
    return ProvenanceBody(
        item_id=task.task_id,
        job_id=catalogue.id,
        row=row if isinstance(row, int) else None,
        status=status,
        attempts=task.attempts,
        updated_at=task.updated_at,
        image=str(image["name"]) if "name" in image else None,
        cells=_cells(given.get("cells"), metadata),
        understood=normalized,
        problems={str(role): str(text) for role, text in problems.items()},
        match=_text(columns.get("Match")),
        score=float(columns["Score"]) if isinstance(columns.get("Score"), int | float) else None,
        fields=[_field(name, columns[name], sources) for name in _in_order(columns, metadata)],
        reason=_reason(task),
        questions=list(questions[:most]),
        more_questions=len(questions) > most,
    )


def _cells(cells: Any, metadata: Mapping[str, Any]) -> list[CellBody]:
    if not isinstance(cells, list):
        return []
    columns = [str(one) for one in metadata.get("columns") or ()]
    roles = {heading: role for role, heading in roles_by_heading(metadata).items()}
    named = [columns[at] if at < len(columns) else f"Column {at + 1}" for at in range(len(cells))]
    return [
        CellBody(column=name, value=str(value), role=roles.get(name)) for name, value in zip(named, cells, strict=True)
    ]


def _in_order(columns: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[str]:
    """As the grid has them: a stored object knows no order."""
    known = [str(one) for one in metadata.get("result_columns") or ()]
    listed = [*(one for one in known if one in columns), *(one for one in columns if one not in known)]
    return [one for one in listed if one not in _ABOUT_THE_MATCH]


def _field(name: str, value: Any, sources: Mapping[str, Any]) -> FieldBody:
    source = _mapping(sources.get(name))
    at = _text(source.get("at"))
    return FieldBody(
        column=name,
        value=value,
        provider=_text(source.get("provider")),
        query=_text(source.get("query")),
        at=None if at is None else datetime.fromisoformat(at),
    )


def _reason(task: TaskDetails) -> str | None:
    """Why it ended without a result, or why its last attempt did."""
    error = _mapping(task.error)
    return _text(error.get("message") or error.get("reason"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
