"""What can be set for article search."""

from pathlib import Path

from pydantic import Field

from penstock.config import ExtensionSettings


class ArticleSettings(ExtensionSettings, env_prefix="PENSTOCK_ARTICLES_"):
    enabled: bool = Field(True, description="Embed articles in the background; false: in the request that saves them.")
    worker_interval_seconds: float = Field(
        5.0, gt=0, le=3600, description="Longest pause of a worker between two looks for articles to embed."
    )
    max_retries: int = Field(3, ge=0, le=100, description="Further tries of an embedding that failed.")
    backoff_seconds: float = Field(
        1.0, ge=0, le=3600, description="Pause before the first of them; it doubles with each."
    )
    batch_size: int = Field(1, ge=1, le=1000, description="Articles that a worker embeds at one time; 1: one by one.")
    batches_at_once: int = Field(
        1,
        ge=1,
        le=1000,
        description="Batches that are embedded at one time in the whole fleet; 1: one after the other.",
    )
    timeout_seconds: float = Field(120.0, gt=0, le=86_400, description="Deadline of one embedding.")
    cleanup_hours: float = Field(24.0, ge=0.1, le=8760, description="How often ended embeddings are cleared.")
    keep_days: float = Field(
        30.0,
        gt=0,
        le=36_500,
        description="Completed embeddings are kept this long, and never longer than the engine keeps ended tasks, "
        "after which failed ones go as well.",
    )
    max_characters: int = Field(1_000_000, ge=1000, le=10_000_000, description="Longest text of an article.")
    language: str = Field(
        "english",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="PostgreSQL's text search configuration for words of articles and queries; simple: no stems.",
    )
    embedders_file: Path | None = Field(
        None, description="TOML file with further embedders: docs/article-search.md has an example."
    )
    query_timeout_seconds: float = Field(
        2.0, gt=0, le=60, description="A search waits this long for the vector of its query, then goes by words alone."
    )
    memory_mb: int = Field(
        256,
        ge=0,
        le=1_000_000,
        description="The service keeps the vectors of the active index in memory up to so much; 0: it keeps none.",
    )
    alert_webhook: str | None = Field(
        None, description="Address that is sent a JSON message when embedding is in trouble, and when it is over."
    )
    alert_waiting: int = Field(
        1000, ge=1, le=10_000_000, description="Alert when more embeddings than this have waited for a while."
    )
    alert_waiting_seconds: float = Field(
        600.0, ge=0, le=86_400, description="That while: the age of the oldest one that is due."
    )
    alert_failures: int = Field(
        10, ge=1, le=1_000_000, description="Alert when so many embeddings failed within an hour."
    )
    alert_silent_seconds: float = Field(
        60.0, gt=0, le=86_400, description="Alert when embeddings wait and no worker has been there for so long."
    )
