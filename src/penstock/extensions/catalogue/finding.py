"""What a person finds in the local products by typing something."""

from typing import Any

from penstock.extensions.catalogue import products
from penstock.extensions.catalogue.folding import fold, tidy
from penstock.extensions.catalogue.gtin import NoGtin, gtin_of
from penstock.extensions.catalogue.products import Product


async def find(connection: Any, text: str, *, least_score: float) -> list[Product]:
    """By number where it is one, else by words, else by words that are spelled alike."""
    try:
        found = await products.by_gtin(connection, gtin_of(text))
    except NoGtin:
        found = await products.by_sku(connection, tidy(text).upper(), None)
    if found is not None:
        return [found]
    title = fold(text)
    if not title:
        return []
    return await products.by_words(connection, title) or await products.by_trigrams(connection, title, least_score)
