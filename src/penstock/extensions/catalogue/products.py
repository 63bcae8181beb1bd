"""The table ``catalogue.products``. One function per query of ``sql/products.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.extensions.catalogue.folding import fold, telling, tidy, with_brand
from penstock.extensions.catalogue.understood import NoGtin, Understood, gtin_of
from penstock.extensions.catalogue.verifying import Likeness, Texts
from penstock.storage.queries import load

_sql = load("products", "penstock.extensions.catalogue")
Connection = Any

# Candidates that are ranked. Words that more products share say too little to be worth more.
_MOST_CANDIDATES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A row of the table, and how well it fits what was asked."""

    id: int
    gtin: str | None
    sku: str | None
    brand: str | None
    title: str
    price: Decimal | None
    currency: str | None
    retailer: str | None
    url: str | None
    search_brand: str
    search_title: str
    score: float


def key_of(product: Understood) -> str:
    """The same product in another list has the same key."""
    if product.gtin:
        return f"gtin {product.gtin}"
    retailer = fold(product.retailer or "")
    if product.sku:
        return f"sku {retailer}\n{product.sku}"
    return f"title {retailer}\n{_search_title(product)}"


async def upsert(connection: Connection, products: Sequence[Understood]) -> tuple[int, int]:
    """How many are new, and how many were there. Of two with one key, the later counts."""
    chosen = {key_of(product): product for product in products}
    columns: list[list[Any]] = [[] for _ in range(11)]
    for key, one in chosen.items():
        folded = (fold(one.brand or ""), _search_title(one))
        row = (key, one.gtin, one.sku, one.brand, one.title, one.price, one.currency, one.retailer, one.url, *folded)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    rows = await connection.fetch(_sql.upsert, *columns)
    created = sum(row["created"] for row in rows)
    return created, len(rows) - created


async def by_gtin(connection: Connection, gtin: str) -> Product | None:
    return _one(await connection.fetchrow(_sql.by_gtin, gtin))


async def by_sku(connection: Connection, sku: str, brand: str | None) -> Product | None:
    return _one(await connection.fetchrow(_sql.by_sku, sku, brand))


async def by_brand_and_title(connection: Connection, brand: str, title: str, threshold: float) -> list[Product]:
    """More words would be commoner ones, whose long lists cost more than they find."""
    words = telling(title, most=2)
    text = with_brand(brand, title)
    return _all(await connection.fetch(_sql.by_brand_and_title, text, brand, words, threshold, _MOST_CANDIDATES))


async def by_title(connection: Connection, title: str, threshold: float) -> list[Product]:
    """Two words of three, so that one may be missing or misspelled."""
    words = telling(title)
    pairs = [words] * 3 if len(words) < 3 else [words[:2], words[1:], [words[0], words[2]]]
    return _all(await connection.fetch(_sql.by_title, title, *pairs, threshold, _MOST_CANDIDATES))


async def by_words(connection: Connection, title: str) -> list[Product]:
    return _all(await connection.fetch(_sql.by_words, title, title.split(), _MOST_CANDIDATES))


async def by_trigrams(connection: Connection, title: str, threshold: float) -> list[Product]:
    """Reads many pages in a large catalogue (a third of a second among a million): for later attempts and people."""
    async with connection.transaction():
        await connection.execute(_sql.bear, str(threshold))
        return _all(await connection.fetch(_sql.by_trigrams, title))


async def likeness(connection: Connection, texts: Texts) -> Likeness:
    return Likeness(**await connection.fetchrow(_sql.likeness, texts.asked, texts.answered))


async def remove(connection: Connection, gtins: Sequence[str]) -> int:
    """How many there were."""
    return len(await connection.fetch(_sql.remove, gtins))


async def count(connection: Connection) -> int:
    counted: int = await connection.fetchval(_sql.count)
    return counted


def _search_title(product: Understood) -> str:
    return with_brand(fold(product.brand or ""), fold(product.title or ""))


def _one(row: Any) -> Product | None:
    return None if row is None else Product(**row)


def _all(rows: Sequence[Any]) -> list[Product]:
    return [Product(**row) for row in rows]


async def find(connection: Any, text: str, *, least_score: float) -> list[Product]:
    """By number where it is one, else by words, else by words that are spelled alike."""
    try:
        found = await by_gtin(connection, gtin_of(text))
    except NoGtin:
        found = await by_sku(connection, tidy(text).upper(), None)
    if found is not None:
        return [found]
    title = fold(text)
    if not title:
        return []
    return await by_words(connection, title) or await by_trigrams(connection, title, least_score)
