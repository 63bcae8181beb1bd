"""What a set-up of a project shows, on the wire."""

from typing import Any, Literal

from pydantic import Field

from penstock.apps.record_linking.wire import RoleBody
from penstock.service.wire import Wire


class PreviewFields(Wire):
    form: Literal["exact", "safe"] = "exact"


class GuessBody(RoleBody):
    because: str = Field(description="Why it is taken for that, for people.")


class DatasetPreview(Wire):
    """`roles`: a guess, by names and values; columns without one have none. `more`: there are rows behind these."""

    columns: list[str]
    rows: list[dict[str, str]]
    more: bool
    roles: dict[str, GuessBody]


class LinkingSource(Wire):
    """`problem`: what to set before it can be asked; null: it can be. `pages`: put an id behind it for a page about the
    entity; null where the source has none that is known."""

    name: str
    host: str | None
    problem: str | None
    pages: str | None


class LinkingBody(Wire):
    sources: list[LinkingSource]
    options: dict[str, Any] = Field(description="As the settings say; a project may say otherwise.")
    per_second: float
    max_records: int
