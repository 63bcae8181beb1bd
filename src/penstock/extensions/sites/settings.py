"""What can be set for website analysis, and what somebody chose for one of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from penstock.config import ExtensionSettings, Settings


class SitesSettings(ExtensionSettings, env_prefix="PENSTOCK_SITES_"):
    pages: int = Field(5, ge=1, le=200, description="Pages read beside the start page, unless the analysis says so.")
    max_pages: int = Field(50, ge=1, le=1000, description="Most pages that an analysis may ask for.")
    per_second: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="Requests per second to one host, from the whole fleet; robots.txt may ask for fewer.",
    )
    page_timeout_seconds: float = Field(20.0, gt=0, le=600, description="Longest time for one page in all.")
    timeout_seconds: float = Field(
        180.0, gt=0, le=86_400, description="Deadline of the stage website-analysis for one site."
    )
    max_page_bytes: int = Field(
        5 * 1024 * 1024, ge=1024, le=100 * 1024 * 1024, description="Largest page that is read, unpacked."
    )
    max_redirects: int = Field(5, ge=0, le=20, description="Redirects that are followed for one page.")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Private or loopback hosts that may be read all the same: host or host:port, separated by commas.",
        json_schema_extra={"holds": "hosts"},
    )
    user_agent: str = Field(
        "PenstockBot/1.0", min_length=1, max_length=200, description="How the reader calls itself, also for robots.txt."
    )
    keep_days: float = Field(90.0, gt=0, le=36_500, description="Raw pages are kept this long.")
    prompts: int = Field(20, ge=1, le=200, description="Prompts formed per site, unless the analysis says so.")
    samples: int = Field(1, ge=1, le=50, description="Answers asked per prompt and model, unless it says so.")
    budget: float = Field(
        1.0,
        ge=0,
        le=1_000_000,
        description="Most that one analysis may spend on models, in the currency of their prices.",
    )
    models: Annotated[tuple[str, ...], NoDecode] = Field(
        ("offline",),
        description="Models that are asked, unless the analysis names others, separated by commas.",
        json_schema_extra={"holds": "names of models"},
    )
    models_file: Path | None = Field(
        None, description="TOML file with the OpenAI-compatible endpoints: docs/website-analysis.md has an example."
    )
    model_timeout_seconds: float = Field(
        600.0, gt=0, le=86_400, description="Deadline of the stage model-analysis for one site."
    )

    @field_validator("allowed_hosts", "models", mode="before")
    @classmethod
    def _are_separated_by_commas(cls, value: object) -> object:
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, list | tuple):
            raise ValueError("no list")
        return tuple(text for one in given if (text := str(one).strip()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``budget`` in the currency of the models' prices, for the whole job. ``review``: prompts wait for a person before
    a model is asked. ``replay``: the pages kept from the last run instead of the network. ``fresh``: models are asked
    again also where an earlier run has their answer."""

    models: tuple[str, ...]
    pages: int
    samples: int
    budget: float
    prompts: int
    review: bool = False
    replay: bool = False
    fresh: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "models": list(self.models)}

    def changed(self, given: Mapping[str, Any]) -> "Options":
        known = {name: value for name, value in given.items() if name in self.__slots__ and value is not None}
        if "models" in known:
            known["models"] = tuple(known["models"])
        return replace(self, **known)


def chosen(settings: Settings, given: Mapping[str, Any]) -> Options:
    """The settings, and over them what was given with the job."""
    own = settings.of(SitesSettings)
    usual = Options(models=own.models, pages=own.pages, samples=own.samples, budget=own.budget, prompts=own.prompts)
    return usual.changed(given)
