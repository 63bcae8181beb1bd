"""Which articles a search may show, and whether they are few enough to be looked at one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.extensions.articles.articles import Summary
from penstock.storage.queries import load

_sql = load("nearest", "penstock.extensions.articles")
Connection = Any

# So many articles are compared exactly in a few milliseconds. An index that walks past everybody else's is slower,
# and may give up before it has met them.
FEW = 500


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


async def few(connection: Connection, wanted: Filter) -> list[int] | None:
    """The articles it leaves, if they are few."""
    if wanted.open:
        return None
    ids = await admitted(connection, wanted, FEW + 1)
    return ids if len(ids) <= FEW else None


async def admitted(connection: Connection, wanted: Filter, most: int | None = None) -> list[int]:
    """The articles it leaves, in no order."""
    ids: list[int] = await connection.fetchval(_sql.admitted, *wanted.values, most)
    return ids


async def among(connection: Connection, wanted: Filter, ids: Sequence[int]) -> set[int]:
    """Those of ``ids`` that it leaves. Deleted articles are not among them."""
    return set(await connection.fetchval(_sql.among, *wanted.values, list(ids)))
