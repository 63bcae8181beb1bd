"""One product with all that is known about it: given, understood, found, and what everybody said who was asked."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.extensions.catalogue.catalogues import AskedQuestion, StoredCatalogue
from penstock.extensions.catalogue.submitted import roles_by_heading
from penstock.extensions.catalogue.wire import CellBody, FieldBody, ProvenanceBody
from penstock.insight.task_views import TaskDetails

_ABOUT_THE_MATCH = ("Match", "Score")


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
