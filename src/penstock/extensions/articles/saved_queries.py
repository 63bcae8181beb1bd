"""Queries that generations are compared on. One function per query of ``sql/saved_queries.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.errors import UsageError
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("saved_queries", "penstock.extensions.articles")
Connection = Any

MOST = 1000
LONGEST_QUERY = 1000
MOST_EXPECTED = 100
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """``expected``: slugs of articles that should come."""

    __pydantic_config__ = WIRE

    id: int
    owner: str
    query: str
    expected: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A query as somebody writes it, checked."""

    query: str
    expected: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise UsageError("The query is empty. Write the words that somebody would search for.")
        if len(self.query) > LONGEST_QUERY:
            raise UsageError(f"The query has {len(self.query):,} characters; at most {LONGEST_QUERY:,} are kept.")
        if len(self.expected) > MOST_EXPECTED:
            raise UsageError(f"{len(self.expected):,} articles are expected; at most {MOST_EXPECTED} are kept.")
        for text in (self.query, *self.expected):
            if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
                raise UsageError(f"{text[:_LONGEST_SHOWN]!r} holds characters that cannot be stored. Remove them.")


async def add(connection: Connection, *, owner: str, query: str, expected: Sequence[str] = ()) -> SavedQuery:
    """The same query again changes what is expected of it."""
    given = Given(query=query.strip(), expected=tuple(dict.fromkeys(expected)))
    row = await connection.fetchrow(_sql.add, owner, given.query, list(given.expected))
    return _saved(row)


async def add_missing(connection: Connection, *, owner: str, given: Sequence[Given]) -> int:
    """How many were new."""
    expected = [",".join(one.expected) for one in given]
    rows = await connection.fetch(_sql.add_missing, owner, [one.query for one in given], expected)
    return len(rows)


async def listing(connection: Connection, *, owner: str | None = None, limit: int = MOST) -> list[SavedQuery]:
    """``owner`` None: everybody's."""
    return [_saved(row) for row in await connection.fetch(_sql.listing, owner, limit)]


async def remove(connection: Connection, query_id: int, *, owner: str | None = None) -> bool:
    """False: there is none, or it is somebody else's."""
    return await connection.fetchval(_sql.remove, query_id, owner) is not None


def read_lines(text: str) -> list[Given]:
    """One query per line; behind a tab, the slugs of expected articles with commas between. ``#`` begins a remark."""
    found: dict[str, Given] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        query, _, expected = line.partition("\t")
        if not query.strip() or query.lstrip().startswith("#"):
            continue
        try:
            slugs = tuple(dict.fromkeys(slug.strip() for slug in expected.split(",") if slug.strip()))
            found[query.strip()] = Given(query=query.strip(), expected=slugs)
        except UsageError as error:
            raise UsageError(f"Line {number:,}: {error}") from None
        if len(found) > MOST:
            raise UsageError(f"There are more than {MOST:,} queries. Nothing was stored; shorten the file.")
    return list(found.values())


def _saved(row: Any) -> SavedQuery:
    return SavedQuery(**{**row, "expected": tuple(row["expected"])})
