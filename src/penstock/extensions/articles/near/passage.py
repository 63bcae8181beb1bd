"""A piece of an article that comes near to a query."""

from collections.abc import Iterable
from dataclasses import dataclass

# Single precision differs behind this, by the order in which numbers are added; a tie is a tie whoever adds.
DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """``starts``, ``ends``: characters of the content of ``revision``; both 0: the title alone. ``similarity``: the dot
    product, -1 to 1."""

    article_id: int
    ordinal: int
    revision: int
    starts: int
    ends: int
    similarity: float


def best_of_each(passages: Iterable[Passage], limit: int) -> list[Passage]:
    """The nearest passage of every article, the nearest article first; of equals the older one."""
    chosen: dict[int, Passage] = {}
    for one in sorted(passages, key=lambda one: (-one.similarity, one.article_id, one.ordinal)):
        chosen.setdefault(one.article_id, one)
        if len(chosen) == limit:
            break
    return list(chosen.values())
