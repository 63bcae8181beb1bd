"""What can be set for catalogue enrichment."""

from pydantic import Field

from penstock.config import ExtensionSettings


class CatalogueSettings(ExtensionSettings, env_prefix="PENSTOCK_CATALOGUE_"):
    match_threshold: float = Field(
        0.45, gt=0, le=1, description="Minimum trigram similarity of two titles of the same product; 1 is identical."
    )
    again_seconds: float = Field(
        600.0, ge=0, le=30 * 86_400, description="A row that was not found is looked up in another way after so long."
    )
    http_url: str | None = Field(
        None,
        description="HTTP provider: the address to ask, with {gtin}, {sku}, {brand}, {title} or {text} in it.",
    )
    http_headers: str = Field(
        "", description="HTTP provider: headers as Name: value, separated by |; $NAME stands for that variable."
    )
    http_paths: str = Field(
        "title=title, brand=brand, price=price, currency=currency, retailer=retailer, url=url, gtin=gtin, sku=sku",
        description="HTTP provider: where the JSON answer holds each field, such as price=offers[0].price.",
    )
    http_per_second: float = Field(
        5.0, gt=0, le=10_000, description="HTTP provider: questions per second of the whole fleet."
    )
    http_concurrency: int = Field(
        4, ge=1, le=1000, description="HTTP provider: most questions at once per runner; fewer while it is in trouble."
    )
    http_timeout_seconds: float = Field(
        10.0, gt=0, le=300, description="HTTP provider: an answer that takes longer in all has failed."
    )
    http_max_bytes: int = Field(
        1024 * 1024, ge=1024, le=64 * 1024 * 1024, description="HTTP provider: largest answer that is read, unpacked."
    )
    http_cost: float = Field(0.0, ge=0, le=1000, description="HTTP provider: what a question costs, noted with each.")
    http_circuit_failures: int = Field(
        5, ge=1, le=1000, description="HTTP provider: after so many failures in a row nobody asks for a while."
    )
    http_circuit_seconds: float = Field(
        30.0, gt=0, le=3600, description="HTTP provider: that while; then one question decides."
    )
