"""Settings of the applications that ship with Penstock, one class per application."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode


def listed(name: str) -> str:
    """What a setting that holds several values may be, in words."""
    kinds = {"file_roots": "absolute folders", "sites_models": "names of models", "sites_allowed_hosts": "hosts"}
    return f"{kinds[name]}, separated by commas"


class CatalogueSettings(BaseSettings):
    catalogue_match_threshold: float = Field(
        0.45, gt=0, le=1, description="How alike titles have to be for the local products, 1 being the same."
    )
    catalogue_again_seconds: float = Field(
        600.0, ge=0, le=30 * 86_400, description="A row that was not found is looked up in another way after so long."
    )
    catalogue_http_url: str | None = Field(
        None,
        description="HTTP provider: the address to ask, with {gtin}, {sku}, {brand}, {title} or {text} in it.",
    )
    catalogue_http_headers: str = Field(
        "", description="HTTP provider: headers as Name: value, separated by |; $NAME stands for that variable."
    )
    catalogue_http_paths: str = Field(
        "title=title, brand=brand, price=price, currency=currency, retailer=retailer, url=url",
        description="HTTP provider: where the JSON answer holds each field, such as price=offers[0].price.",
    )
    catalogue_http_per_second: float = Field(
        5.0, gt=0, le=10_000, description="HTTP provider: questions per second of the whole fleet."
    )
    catalogue_http_concurrency: int = Field(
        4, ge=1, le=1000, description="HTTP provider: most questions at once per runner; fewer while it is in trouble."
    )
    catalogue_http_timeout_seconds: float = Field(
        10.0, gt=0, le=300, description="HTTP provider: an answer that takes longer in all has failed."
    )
    catalogue_http_max_bytes: int = Field(
        1024 * 1024, ge=1024, le=64 * 1024 * 1024, description="HTTP provider: largest answer that is read, unpacked."
    )
    catalogue_http_cost: float = Field(
        0.0, ge=0, le=1000, description="HTTP provider: what a question costs, noted with each."
    )
    catalogue_http_circuit_failures: int = Field(
        5, ge=1, le=1000, description="HTTP provider: after so many failures in a row nobody asks for a while."
    )
    catalogue_http_circuit_seconds: float = Field(
        30.0, gt=0, le=3600, description="HTTP provider: that while; then one question decides."
    )


class WebsiteAnalysisSettings(BaseSettings):
    sites_pages: int = Field(
        5, ge=1, le=200, description="Pages read beside the start page, unless the analysis says so."
    )
    sites_max_pages: int = Field(50, ge=1, le=1000, description="Most pages that an analysis may ask for.")
    sites_per_second: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="Requests per second to one host, from the whole fleet; robots.txt may ask for fewer.",
    )
    sites_page_timeout_seconds: float = Field(20.0, gt=0, le=600, description="Longest time for one page in all.")
    sites_timeout_seconds: float = Field(
        180.0, gt=0, le=86_400, description="Deadline of the stage website-analysis for one site."
    )
    sites_max_page_bytes: int = Field(
        5 * 1024 * 1024, ge=1024, le=100 * 1024 * 1024, description="Largest page that is read, unpacked."
    )
    sites_max_redirects: int = Field(5, ge=0, le=20, description="Redirects that are followed for one page.")
    sites_allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Private or loopback hosts that may be read all the same: host or host:port, separated by commas.",
    )
    sites_user_agent: str = Field(
        "PenstockBot/1.0", min_length=1, max_length=200, description="How the reader calls itself, also for robots.txt."
    )
    sites_keep_days: float = Field(90.0, gt=0, le=36_500, description="Raw pages are kept this long.")
    sites_prompts: int = Field(20, ge=1, le=200, description="Prompts formed per site, unless the analysis says so.")
    sites_samples: int = Field(1, ge=1, le=50, description="Answers asked per prompt and model, unless it says so.")
    sites_budget: float = Field(
        1.0,
        ge=0,
        le=1_000_000,
        description="Most that one analysis may spend on models, in the currency of their prices.",
    )
    sites_models: Annotated[tuple[str, ...], NoDecode] = Field(
        ("offline",), description="Models that are asked, unless the analysis names others, separated by commas."
    )
    sites_models_file: Path | None = Field(
        None, description="TOML file with the OpenAI-compatible endpoints: docs/website-analysis.md has an example."
    )
    sites_model_timeout_seconds: float = Field(
        600.0, gt=0, le=86_400, description="Deadline of the stage model-analysis for one site."
    )

    @field_validator("sites_allowed_hosts", "sites_models", mode="before")
    @classmethod
    def _are_separated_by_commas(cls, value: object) -> object:
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, list | tuple):
            raise ValueError("no list")
        return tuple(text for one in given if (text := str(one).strip()))
