"""The built-in provider: the table of products in this very database. Free, offline, and first in line."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from penstock import Context
from penstock.extensions.catalogue import products
from penstock.extensions.catalogue.products import Product
from penstock.extensions.catalogue.provider import Hit, Query
from penstock.extensions.catalogue.understood import Understood
from penstock.extensions.catalogue.verifying import LEAST_WORD_SIMILARITY, numbers_differ, other_gtin

_CLEARLY_BETTER = 0.02


class LocalProducts:
    """``connect``: ``Penstock.connection``. ``threshold``: how alike titles have to be, from 0 to 1."""

    name = "local"
    cost = 0.0

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Any]], *, threshold: float) -> None:
        self._connect = connect
        self._threshold = threshold

    def serves(self, query: Query) -> bool:
        return True

    async def look_up(self, query: Query, ctx: Context) -> Hit | None:
        async with self._connect() as connection:
            found = await find(connection, query, self._threshold)
        return None if found is None else _hit(query, found)


async def find(connection: Any, query: Query, threshold: float) -> Product | None:
    """The best product for one question."""
    match query.kind:
        case "gtin":
            return await products.by_gtin(connection, query.gtin or "")
        case "sku":
            found = await products.by_sku(connection, query.sku or "", query.brand)
            return None if found is None or other_gtin(query.row, found.gtin) else found
        case "brand+title":
            title, brand = query.title or "", query.brand or ""
            return _fitting(query, await products.by_brand_and_title(connection, brand, title, threshold))
        case "title":
            if query.loose:
                return await _guess(connection, query, threshold)
            return _fitting(query, await products.by_title(connection, query.title or "", threshold))


async def _guess(connection: Any, query: Query, threshold: float) -> Product | None:
    title = query.title or ""
    found = await products.by_words(connection, title)
    if not found:
        found = await products.by_trigrams(connection, title, max(threshold, LEAST_WORD_SIMILARITY))
    return _only(_possible(query.row, found))


def _fitting(query: Query, found: Sequence[Product]) -> Product | None:
    """The most alike whose numbers do not contradict."""
    title = query.title or ""
    return _only([one for one in _possible(query.row, found) if not numbers_differ(title, one.search_title)])


def _possible(row: Understood, found: Sequence[Product]) -> list[Product]:
    return [one for one in found if not other_gtin(row, one.gtin)]


def _only(found: Sequence[Product]) -> Product | None:
    """The best, unless others that are called differently fit as well: to take one of them would be to roll dice."""
    if not found:
        return None
    best = found[0]
    rivals = [
        one for one in found if one.score > best.score - _CLEARLY_BETTER and one.search_title != best.search_title
    ]
    return None if rivals else best


def _hit(query: Query, found: Product) -> Hit:
    fields = {
        "title": found.title,
        "brand": found.brand,
        "price": None if found.price is None else float(found.price),
        "currency": found.currency,
        "retailer": found.retailer,
        "url": found.url,
    }
    return Hit(match=query.kind, score=round(found.score, 3), fields=fields)
