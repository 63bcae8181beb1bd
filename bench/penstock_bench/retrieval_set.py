"""Articles and queries with graded relevance, as files: ``articles_*.toml`` and ``queries_*.toml`` in one folder."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import UsageError

GRADES = (1, 2, 3)
"""1 related, 2 helps much, 3 the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledArticle:
    slug: str
    title: str
    content: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """``relevant``: slug → grade. ``held_out``: nothing was tuned on it."""

    query: str
    relevant: Mapping[str, int]
    held_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    articles: Sequence[LabelledArticle]
    queries: Sequence[LabelledQuery]


def load(folder: Path) -> LabelledSet:
    """All files of the folder together: an article of one may be relevant to a query of another."""
    articles = [LabelledArticle(**given) for given in _tables(folder, "articles_*.toml", "article")]
    queries = [LabelledQuery(**given) for given in _tables(folder, "queries_*.toml", "query")]
    if not articles or not queries:
        raise UsageError(
            f"{folder} holds {len(articles)} articles and {len(queries)} queries. Name a folder with "
            "articles_*.toml ([[article]]) and queries_*.toml ([[query]])."
        )
    _check(articles, queries)
    return LabelledSet(articles=articles, queries=queries)


def _tables(folder: Path, pattern: str, key: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(pattern)):
        yield from tomllib.loads(path.read_text(encoding="utf-8")).get(key, [])


def _check(articles: Sequence[LabelledArticle], queries: Sequence[LabelledQuery]) -> None:
    """A slug that is misspelt would count as an article that no search ever finds."""
    known = {one.slug for one in articles}
    if len(known) < len(articles):
        raise UsageError(f"{len(articles)} articles share {len(known)} slugs. Give each one of its own.")
    for one in queries:
        if unknown := sorted(set(one.relevant) - known):
            raise UsageError(f"The query {one.query!r} names {unknown[0]!r}, which no article has as its slug.")
        if 3 not in one.relevant.values() or not set(one.relevant.values()) <= set(GRADES):
            raise UsageError(
                f"The query {one.query!r} has the grades {dict(one.relevant)}. Use 1 to 3, at least one 3."
            )
