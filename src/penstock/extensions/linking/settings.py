"""What can be set for record linking."""

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from penstock.config import ExtensionSettings


class LinkingSettings(ExtensionSettings, env_prefix="PENSTOCK_LINKING_"):
    endpoint: str = Field(
        "https://www.wikidata.org/w/api.php", description="Address of the Wikidata API, or of one that speaks like it."
    )
    reconciliation_url: str | None = Field(
        None, description="Reconciliation service (version 0.2) that projects may use in the place of Wikidata."
    )
    user_agent: str | None = Field(
        None,
        min_length=5,
        max_length=200,
        description="How requests name you, with an address where you can be reached. Wikidata asks for it.",
    )
    per_second: float = Field(
        5.0, gt=0, le=10_000, description="Requests per second to one source, from the whole fleet."
    )
    concurrency: int = Field(8, ge=1, le=200, description="Requests that one runner has under way at one time.")
    maxlag_seconds: int = Field(
        5, ge=1, le=60, description="Wikidata refuses while its copies are further behind than this; we wait then."
    )
    timeout_seconds: float = Field(20.0, gt=0, le=300, description="An answer that takes longer in all has failed.")
    languages: Annotated[tuple[str, ...], NoDecode] = Field(
        ("en",),
        description="Languages that are searched, one after the other, unless the project says so.",
        json_schema_extra={"holds": "codes of languages"},
    )
    candidates: int = Field(7, ge=1, le=50, description="Candidates asked for per name, unless the project says so.")
    accept_score: float = Field(
        0.9, ge=0, le=1, description="A record is accepted by itself from this score on, unless the project says so."
    )
    accept_gap: float = Field(0.1, ge=0, le=1, description="And when the second candidate is at least so far behind.")
    cache_days: float = Field(30.0, gt=0, le=3650, description="Answers of a source are used again for so long.")
    max_records: int = Field(1_000_000, ge=1, le=10_000_000, description="Largest dataset of a project.")

    @field_validator("languages", mode="before")
    @classmethod
    def _are_languages(cls, value: object) -> object:
        return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else value
