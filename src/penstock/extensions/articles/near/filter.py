"""What a search of vectors is asked and answers: which articles it may show, and the passages that come near."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.extensions.articles.articles import Summary
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """``viewer`` None: sees everything. ``author``: whose articles; ``since`` (included) and ``until`` (not): when they
    were last changed."""

    viewer: str | None = None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def values(self) -> tuple[str | None, str | None, datetime | None, datetime | None]:
        """As the queries take them."""
        return (self.viewer, self.author, self.since, self.until)

    @property
    def open(self) -> bool:
        return self.values == (None, None, None, None)

    def takes(self, article: Summary) -> bool:
        """For an article that may have changed since the candidates were chosen."""
        return (
            article.visible_to(self.viewer)
            and (self.author is None or article.owner == self.author)
            and (self.since is None or article.updated_at >= self.since)
            and (self.until is None or article.updated_at < self.until)
        )


async def admitted(connection: Connection, wanted: Filter, most: int | None = None) -> list[int]:
    """The articles it leaves, in no order."""
    ids: list[int] = await connection.fetchval(_sql.admitted, *wanted.values, most)
    return ids


async def among(connection: Connection, wanted: Filter, ids: Sequence[int]) -> set[int]:
    """Those of ``ids`` that it leaves. Deleted articles are not among them."""
    return set(await connection.fetchval(_sql.among, *wanted.values, list(ids)))
