"""What is asked, and of whom first, in each attempt. Pure.

A second attempt that asks the same again would only find what was added meanwhile, so each attempt asks for
something else. Exact keys are asked in all of them: the attempt before may have ended before it came to them.
"""

from collections.abc import Sequence
from dataclasses import replace

from penstock.extensions.catalogue.folding import fold, significant, without_brand, without_sizes
from penstock.extensions.catalogue.provider import Query
from penstock.extensions.catalogue.understood import Understood

_FIRST_WORDS = 3
_STRATEGIES = 3


def queries_for(understood: Understood, attempt: int) -> list[Query]:
    """``attempt`` counts from 1; behind the last strategy the first comes again."""
    brand, title = fold(understood.brand or ""), fold(understood.title or "")
    exact: list[Query] = []
    if understood.gtin:
        exact.append(Query(kind="gtin", gtin=understood.gtin))
    if understood.sku:
        exact.append(Query(kind="sku", sku=understood.sku, brand=brand or None))
    asked = exact + _texts(brand, title, (attempt - 1) % _STRATEGIES)
    return [replace(query, row=understood) for query in asked]


def providers_for(order: Sequence[str], attempt: int) -> list[str]:
    """As chosen at first, then the next one to the front each time."""
    turn = (attempt - 1) % len(order) if order else 0
    return [*order[turn:], *order[:turn]]


def _texts(brand: str, title: str, strategy: int) -> list[Query]:
    if not title:
        return []
    bare = without_brand(brand, title) or title
    if strategy == 0:
        asked = [Query(kind="brand+title", brand=brand, title=bare)] if brand else []
        return [*asked, Query(kind="title", title=title)]
    shorter = without_sizes(bare) or bare
    if strategy == 2:
        shorter = significant(shorter, _FIRST_WORDS) or shorter
    return [Query(kind="title", title=shorter, loose=True)]
