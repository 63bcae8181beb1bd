"""`penstock bench retrieval`: does search find the right articles for questions in other words?

The set in ``bench/retrieval`` has articles, and queries with the articles that answer them. All are stored and embedded
with the built-in model through the code that serves people, and every query is asked in each mode.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError, UsageError
from penstock.extensions.articles import searching, writing
from penstock.extensions.articles.articles import NewArticle, Visibility
from penstock.extensions.articles.searching import Mode, Question
from penstock.extensions.articles.shared import ArticleSearch
from penstock.terminal.output import Column, write_table
from penstock.terminal.session import Session
from penstock_bench import retrieval_set
from penstock_bench import statements as bench
from penstock_bench.figures import machine
from penstock_bench.ground import opened
from penstock_bench.retrieval_marks import DEPTH, ndcg, recall, reciprocal_rank
from penstock_bench.retrieval_set import LabelledArticle, LabelledQuery, LabelledSet

MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
PARTS = ("all", "tuned", "held-out")
_WHO = "bench"
_MARKS = {"ndcg_at_10": ndcg, "recall_at_10": recall, "mrr": reciprocal_rank}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """``found``: slugs of the set, best first."""

    query: LabelledQuery
    mode: Mode
    found: Sequence[str]

    @property
    def part(self) -> str:
        return "held-out" if self.query.held_out else "tuned"


async def retrieval(session: Session, folder: Path | None) -> None:
    labelled = retrieval_set.load(folder if folder is not None else usual())
    # Embedded as they are saved: what is measured here does not depend on when.
    settings = session.settings.model_copy(update={"articles_enabled": False})
    async with opened(settings, session.out.say) as ground, ground.site() as site:
        search = ArticleSearch(site.app)
        try:
            asked = await ask_all(search, labelled, site.connection)
        finally:
            await search.close()
        figures = figures_of(labelled, asked) | {"machine": await machine(site.connection)}
    if session.out.json:
        session.out.emit(figures)
        return
    columns = [Column(key="part", title="queries"), Column(key="mode", title="mode")]
    columns += [Column(key=key, title=key.replace("_", " "), show=_shown) for key in _MARKS]
    write_table(session.out.stdout, figures["modes"], columns)
    verdict = "above" if figures["hybrid_gain"] > 0 else "not above"
    session.out.stdout.write(
        f"{figures['articles']} articles, {figures['queries']} queries; 1 is best. Hybrid is {verdict} the better of"
        f" the two others ({figures['hybrid_gain']:+.3f}).\n"
    )
    session.out.stdout.flush()


async def ask_all(search: ArticleSearch, labelled: LabelledSet, connection: Any) -> list[Asked]:
    """On an empty database with the setting ``articles_enabled`` off."""
    slugs = {await _store(search, article): article.slug for article in labelled.articles}
    # Keyword search weighs words by the statistics of the server, which are otherwise taken at some later minute.
    await bench.settle_articles(connection)
    return [
        Asked(query=query, mode=mode, found=await _ask(search, query.query, mode, slugs))
        for query in labelled.queries
        for mode in MODES
    ]


def figures_of(labelled: LabelledSet, asked: Sequence[Asked]) -> dict[str, Any]:
    rows = [{"part": part, "mode": mode, **_means(asked, part, mode)} for part in PARTS for mode in MODES]
    whole = {mode: _means(asked, "all", mode)["ndcg_at_10"] for mode in MODES}
    return {
        "articles": len(labelled.articles),
        "queries": len(labelled.queries),
        "held_out": sum(query.held_out for query in labelled.queries),
        "hybrid_gain": round(whole["hybrid"] - max(whole["keyword"], whole["semantic"]), 4),
        "modes": rows,
        "by_query": [_of_query(query, asked) for query in labelled.queries],
    }


def usual() -> Path:
    """The repository's own, for those who have it; a wheel holds none."""
    folder = Path(__file__).parents[1] / "retrieval"
    if not folder.is_dir():
        raise UsageError("The labelled set is not part of an installed Penstock. Name the folder of one.")
    return folder


async def _store(search: ArticleSearch, article: LabelledArticle) -> str:
    new = NewArticle(
        title=article.title, content=article.content, owner=_WHO, author=_WHO, visibility=Visibility.SHARED
    )
    saved = await writing.create(search, new)
    if saved.note is not None:
        raise PenstockError(f"The article {article.slug!r} of the set was not embedded: {saved.note}")
    return saved.article.slug


async def _ask(search: ArticleSearch, text: str, mode: Mode, slugs: Mapping[str, str]) -> list[str]:
    answer = await searching.search(search, Question(text=text, mode=mode, viewer=_WHO, limit=DEPTH))
    if answer.mode != mode:
        raise PenstockError(f"{text!r} was asked in mode {mode} and answered in mode {answer.mode}: {answer.notice}")
    return [slugs[hit.slug] for hit in answer.hits]


def _means(asked: Sequence[Asked], part: str, mode: Mode) -> dict[str, float]:
    chosen = [one for one in asked if one.mode == mode and part in ("all", one.part)]
    return {
        key: round(statistics.fmean([mark(one.found, one.query.relevant) for one in chosen]), 4) if chosen else 0.0
        for key, mark in _MARKS.items()
    }


def _of_query(query: LabelledQuery, asked: Sequence[Asked]) -> dict[str, Any]:
    """For looking at what goes wrong."""
    marks = {one.mode: round(ndcg(one.found, query.relevant), 3) for one in asked if one.query is query}
    return {"query": query.query, "held_out": query.held_out} | marks


def _shown(value: Any) -> str:
    return f"{value:.3f}"
