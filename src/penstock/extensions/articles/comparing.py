"""Saved queries, and two generations compared on them: what both find, what moves, what is found that should be.

Everything but the searches themselves is pure. Both generations answer the same question one after the other, in
turns of who goes first, so that neither profits from what the other has warmed.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median
from typing import Any

from penstock.errors import UsageError
from penstock.extensions.articles import generations
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.shared import ArticleSearch, WireRecord
from penstock.storage.queries import load

_sql = load("saved_queries", "penstock.extensions.articles")
Connection = Any

_MOST_SAVED = 1000
LONGEST_QUERY = 1000
MOST_EXPECTED = 100
_LONGEST_SHOWN = 60
MOST_QUERIES = 200
_NDCG_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery(WireRecord):
    """``expected``: slugs of articles that should come."""

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


async def save_query(connection: Connection, *, owner: str, query: str, expected: Sequence[str] = ()) -> SavedQuery:
    """The same query again changes what is expected of it."""
    given = Given(query=query.strip(), expected=tuple(dict.fromkeys(expected)))
    row = await connection.fetchrow(_sql.add, owner, given.query, list(given.expected))
    return _saved(row)


async def save_missing(connection: Connection, *, owner: str, given: Sequence[Given]) -> int:
    """How many were new."""
    expected = [",".join(one.expected) for one in given]
    rows = await connection.fetch(_sql.add_missing, owner, [one.query for one in given], expected)
    return len(rows)


async def saved_queries(
    connection: Connection, *, owner: str | None = None, limit: int = _MOST_SAVED
) -> list[SavedQuery]:
    """``owner`` None: everybody's."""
    return [_saved(row) for row in await connection.fetch(_sql.listing, owner, limit)]


async def forget_query(connection: Connection, query_id: int, *, owner: str | None = None) -> bool:
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
        if len(found) > _MOST_SAVED:
            raise UsageError(f"There are more than {_MOST_SAVED:,} queries. Nothing was stored; shorten the file.")
    return list(found.values())


def _saved(row: Any) -> SavedQuery:
    return SavedQuery(**{**row, "expected": tuple(row["expected"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedArticle(WireRecord):
    """Places from 1."""

    slug: str
    place_a: int
    place_b: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryComparison(WireRecord):
    """`overlap`: share of the found articles that both found. `ndcgA`, `ndcgB`: how high the expected ones stand, 1 at
    best; null where none is expected. `notice`: why an answer is worth less."""

    query_id: int
    query: str
    overlap: float
    moved: tuple[MovedArticle, ...]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    expected: tuple[str, ...]
    expected_found_a: int
    expected_found_b: int
    ndcg_a: float | None
    ndcg_b: float | None
    ms_a: float
    ms_b: float
    notice: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTotals(WireRecord):
    """Means over the queries, and the median of the times; null where there is no query to tell from."""

    queries: int
    overlap: float | None
    expected: int
    expected_found_a: int
    expected_found_b: int
    ndcg_a: float | None
    ndcg_b: float | None
    ms_a: float | None
    ms_b: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(WireRecord):
    a: Generation
    b: Generation
    limit: int
    queries: tuple[QueryComparison, ...]
    totals: ComparisonTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What one generation found for a query, best first."""

    slugs: tuple[str, ...]
    took_ms: float
    notice: str | None = None


async def compare(
    search: ArticleSearch,
    a: Generation | int,
    b: Generation | int,
    *,
    limit: int = 10,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """On everybody's saved queries, over all articles."""
    if not 1 <= limit <= 100:
        raise UsageError(f"limit = {limit} will not do: compare the first 1 to 100 articles.")
    async with search.app.connection() as connection:
        first, second = await _searchable(connection, a), await _searchable(connection, b)
        queries = await saved_queries(connection, limit=MOST_QUERIES)
    if first.id == second.id:
        raise UsageError(f"Both are generation {first.name!r}. Name another one to compare it with.")
    found = []
    for number, query in enumerate(queries, start=1):
        answers = {}
        for one in (first, second) if number % 2 else (second, first):
            answers[one.id] = await _answered(search, one, query, limit=limit)
        found.append(compared(query, answers[first.id], answers[second.id]))
        told(number, len(queries))
    return Comparison(a=first, b=second, limit=limit, queries=tuple(found), totals=totals(found))


def compared(query: SavedQuery, a: Answered, b: Answered) -> QueryComparison:
    places_a = {slug: place for place, slug in enumerate(a.slugs, start=1)}
    places_b = {slug: place for place, slug in enumerate(b.slugs, start=1)}
    both = [slug for slug in a.slugs if slug in places_b]
    longer = max(len(a.slugs), len(b.slugs))
    return QueryComparison(
        query_id=query.id,
        query=query.query,
        overlap=len(both) / longer if longer else 1.0,
        moved=tuple(
            MovedArticle(slug=slug, place_a=places_a[slug], place_b=places_b[slug])
            for slug in both
            if places_a[slug] != places_b[slug]
        ),
        only_in_a=tuple(slug for slug in a.slugs if slug not in places_b),
        only_in_b=tuple(slug for slug in b.slugs if slug not in places_a),
        expected=query.expected,
        expected_found_a=sum(slug in places_a for slug in query.expected),
        expected_found_b=sum(slug in places_b for slug in query.expected),
        ndcg_a=ndcg(a.slugs, query.expected),
        ndcg_b=ndcg(b.slugs, query.expected),
        ms_a=a.took_ms,
        ms_b=b.took_ms,
        notice=a.notice or b.notice,
    )


def totals(queries: Sequence[QueryComparison]) -> ComparisonTotals:
    return ComparisonTotals(
        queries=len(queries),
        overlap=_mean([one.overlap for one in queries]),
        expected=sum(len(one.expected) for one in queries),
        expected_found_a=sum(one.expected_found_a for one in queries),
        expected_found_b=sum(one.expected_found_b for one in queries),
        ndcg_a=_mean([one.ndcg_a for one in queries if one.ndcg_a is not None]),
        ndcg_b=_mean([one.ndcg_b for one in queries if one.ndcg_b is not None]),
        ms_a=median(one.ms_a for one in queries) if queries else None,
        ms_b=median(one.ms_b for one in queries) if queries else None,
    )


def ndcg(found: Sequence[str], expected: Sequence[str]) -> float | None:
    """How high the expected articles stand: 1 where they all come first. None where none is expected."""
    if not expected:
        return None
    wanted = set(expected)
    gained = sum(1 / math.log2(place + 1) for place, slug in enumerate(found[:_NDCG_PLACES], start=1) if slug in wanted)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(len(wanted), _NDCG_PLACES) + 1))
    return gained / best


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


async def _searchable(connection: Any, which: Generation | int) -> Generation:
    """As it is now: whoever holds a record of it may not know that it was dropped."""
    asked = which.id if isinstance(which, Generation) else which
    shown = "`penstock articles generations list` shows what is there."
    return await generations.require_kept(connection, asked, move="compare", next_step=shown)


async def _answered(search: ArticleSearch, generation: Generation, query: SavedQuery, *, limit: int) -> Answered:
    from penstock.extensions.articles.searching import Question
    from penstock.extensions.articles.searching import search as ask

    question = Question(text=query.query, viewer=None, limit=limit, generation=generation)
    begun = time.monotonic()
    answer = await ask(search, question)
    took_ms = (time.monotonic() - begun) * 1000
    return Answered(slugs=tuple(hit.slug for hit in answer.hits), took_ms=round(took_ms, 2), notice=answer.notice)
