"""Settings of the applications that ship with Penstock, one class per application."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode


def listed(name: str) -> str:
    """What a setting that holds several values may be, in words."""
    kinds = {"file_roots": "absolute folders", "sites_models": "names of models", "sites_allowed_hosts": "hosts"}
    kinds["linking_languages"] = "codes of languages"
    return f"{kinds[name]}, separated by commas"


class CatalogueSettings(BaseSettings):
    catalogue_match_threshold: float = Field(
        0.45, gt=0, le=1, description="Minimum trigram similarity of two titles of the same product; 1 is identical."
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
        "title=title, brand=brand, price=price, currency=currency, retailer=retailer, url=url, gtin=gtin, sku=sku",
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


class ArticleSearchSettings(BaseSettings):
    articles_enabled: bool = Field(
        True, description="Embed articles in the background; false: in the request that saves them."
    )
    articles_worker_interval_seconds: float = Field(
        5.0, gt=0, le=3600, description="Longest pause of a worker between two looks for articles to embed."
    )
    articles_max_retries: int = Field(3, ge=0, le=100, description="Further tries of an embedding that failed.")
    articles_backoff_seconds: float = Field(
        1.0, ge=0, le=3600, description="Pause before the first of them; it doubles with each."
    )
    articles_batch_size: int = Field(
        1, ge=1, le=1000, description="Articles that a worker embeds at one time; 1: one by one."
    )
    articles_batches_at_once: int = Field(
        1,
        ge=1,
        le=1000,
        description="Batches that are embedded at one time in the whole fleet; 1: one after the other.",
    )
    articles_timeout_seconds: float = Field(120.0, gt=0, le=86_400, description="Deadline of one embedding.")
    articles_cleanup_hours: float = Field(24.0, ge=0.1, le=8760, description="How often ended embeddings are cleared.")
    articles_keep_days: float = Field(
        30.0,
        gt=0,
        le=36_500,
        description="Completed embeddings are kept this long, and never longer than the engine keeps ended tasks, "
        "after which failed ones go as well.",
    )
    articles_max_characters: int = Field(1_000_000, ge=1000, le=10_000_000, description="Longest text of an article.")
    articles_language: str = Field(
        "english",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="PostgreSQL's text search configuration for words of articles and queries; simple: no stems.",
    )
    articles_embedders_file: Path | None = Field(
        None, description="TOML file with further embedders: docs/article-search.md has an example."
    )
    articles_query_timeout_seconds: float = Field(
        2.0, gt=0, le=60, description="A search waits this long for the vector of its query, then goes by words alone."
    )
    articles_memory_mb: int = Field(
        256,
        ge=0,
        le=1_000_000,
        description="The service keeps the vectors of the active index in memory up to so much; 0: it keeps none.",
    )
    articles_alert_webhook: str | None = Field(
        None, description="Address that is sent a JSON message when embedding is in trouble, and when it is over."
    )
    articles_alert_waiting: int = Field(
        1000, ge=1, le=10_000_000, description="Alert when more embeddings than this have waited for a while."
    )
    articles_alert_waiting_seconds: float = Field(
        600.0, ge=0, le=86_400, description="That while: the age of the oldest one that is due."
    )
    articles_alert_failures: int = Field(
        10, ge=1, le=1_000_000, description="Alert when so many embeddings failed within an hour."
    )
    articles_alert_silent_seconds: float = Field(
        60.0, gt=0, le=86_400, description="Alert when embeddings wait and no worker has been there for so long."
    )


class RecordLinkingSettings(BaseSettings):
    linking_endpoint: str = Field(
        "https://www.wikidata.org/w/api.php", description="Address of the Wikidata API, or of one that speaks like it."
    )
    linking_reconciliation_url: str | None = Field(
        None, description="Reconciliation service (version 0.2) that projects may use in the place of Wikidata."
    )
    linking_user_agent: str | None = Field(
        None,
        min_length=5,
        max_length=200,
        description="How requests name you, with an address where you can be reached. Wikidata asks for it.",
    )
    linking_per_second: float = Field(
        5.0, gt=0, le=10_000, description="Requests per second to one source, from the whole fleet."
    )
    linking_concurrency: int = Field(8, ge=1, le=200, description="Requests that one runner has under way at one time.")
    linking_maxlag_seconds: int = Field(
        5, ge=1, le=60, description="Wikidata refuses while its copies are further behind than this; we wait then."
    )
    linking_timeout_seconds: float = Field(
        20.0, gt=0, le=300, description="An answer that takes longer in all has failed."
    )
    linking_languages: Annotated[tuple[str, ...], NoDecode] = Field(
        ("en",), description="Languages that are searched, one after the other, unless the project says so."
    )
    linking_candidates: int = Field(
        7, ge=1, le=50, description="Candidates asked for per name, unless the project says so."
    )
    linking_accept_score: float = Field(
        0.9, ge=0, le=1, description="A record is accepted by itself from this score on, unless the project says so."
    )
    linking_accept_gap: float = Field(
        0.1, ge=0, le=1, description="And when the second candidate is at least so far behind."
    )
    linking_cache_days: float = Field(
        30.0, gt=0, le=3650, description="Answers of a source are used again for so long."
    )
    linking_max_records: int = Field(1_000_000, ge=1, le=10_000_000, description="Largest dataset of a project.")

    @field_validator("linking_languages", mode="before")
    @classmethod
    def _are_languages(cls, value: object) -> object:
        return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else value
