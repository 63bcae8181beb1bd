"""Search: by meaning, by words, or both. Always answers from what is there.

No connection is held while the embedder works on the query, so a slow one cannot use them up.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import asyncpg

from penstock.apps.article_search import articles, generations, keyword, strict
from penstock.apps.article_search.article import Article, Summary
from penstock.apps.article_search.coverage import Coverage, coverage
from penstock.apps.article_search.embedders.embedder import Vectors
from penstock.apps.article_search.fusion import Fused, Score, fuse, hopeful
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.keyword import Words
from penstock.apps.article_search.near.filter import Filter
from penstock.apps.article_search.near.passage import Passage
from penstock.apps.article_search.passages import Shown, shown
from penstock.apps.article_search.query_vector import Unavailable, query_vector
from penstock.apps.article_search.question import Answer, Hit, Mode, Question
from penstock.apps.article_search.standing import Standing, standings
from penstock.errors import NotKnown

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch

Connection = Any

# Length of each list before they are fused; the same for every page, so that pages fit together.
_MOST_SEMANTIC = 100
_MOST_KEYWORD = 200
# Generations are dropped long after they were switched from; twice in one search is a coincidence already.
_MOST_LOOKS = 5
_TELLING_WORDS = 12


class Vanished(Exception):
    """The generation was dropped while it was searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What both ways found. ``notice``: why one of them did not answer."""

    mode: Mode
    notice: str | None
    fused: list[Fused]
    words: Words | None


async def search(shared: "ArticleSearch", question: Question) -> Answer:
    """Reads the active generation anew where it is dropped in the middle: a switch fails no search."""
    for _ in range(_MOST_LOOKS):
        with suppress(Vanished):
            return await _search(shared, question)
    raise NotKnown(kind="generation", name=question.generation.name if question.generation else "active")


async def _search(shared: "ArticleSearch", question: Question) -> Answer:
    """Words are looked up while the meaning is. Semantic searches need them for the marks, and as a way out."""
    clock, near, worded = _Clock(), None, None
    try:
        async with shared.app.connection() as connection:
            generation = question.generation or await generations.active(connection)
            covered = await coverage(shared, connection, generation)
            clock.lap("coverage")
            if meaning := _meaning(question):
                near = asyncio.create_task(_near(shared, question, generation, covered, meaning))
            words = await keyword.understand(connection, shared.app.settings.articles_language, question.text)
            if question.mode != "semantic":
                worded = await _worded(shared, connection, question, words)
        clock.lap("keyword")
        found = await _found(shared, question, generation, near, words, worded, clock)
    finally:
        if near is not None:
            near.cancel()
            await asyncio.gather(near, return_exceptions=True)
    return await _answer(shared, question, generation, covered, found, clock)


async def _found(
    shared: "ArticleSearch",
    question: Question,
    generation: Generation,
    near: "asyncio.Task[list[Passage] | Unavailable] | None",
    words: Words,
    worded: keyword.Found | None,
    clock: "_Clock",
) -> _Found:
    notice = None
    if near is not None:
        passages = await near
        clock.lap("semantic")
        if not isinstance(passages, Unavailable):
            return await _by_meaning(shared, question, generation, passages, words, worded)
        notice = passages.notice
    if worded is None:
        async with shared.app.connection() as connection:
            worded = await _worded(shared, connection, question, words)
    also = worded.words.notice
    if not words.lexemes and words.strict is None and also is None:
        also = "The query has only words that every text has; name what you look for."
    return _Found(mode="keyword", notice=_both(notice, also), fused=fuse([], worded.hits), words=worded.words)


async def _near(
    shared: "ArticleSearch", question: Question, generation: Generation, covered: Coverage, meaning: str
) -> list[Passage] | Unavailable:
    """With a connection of its own, once the vector is there: beside the search for words."""
    if covered.total and not covered.indexed + covered.stale:
        return Unavailable(
            notice=f"No article is embedded in generation {generation.name!r} yet, so words alone were searched for."
        )
    vector = await query_vector(shared, generation, meaning)
    if isinstance(vector, Unavailable):
        return vector
    async with shared.app.connection() as connection:
        return await _nearest(shared, connection, generation, vector, question.filter, _MOST_SEMANTIC)


def _meaning(question: Question) -> str:
    """What is embedded. In a semantic search quotes and signs are part of the text."""
    if question.mode == "keyword":
        return ""
    return question.text if question.mode == "semantic" else strict.meant(question.text)


def _both(*notices: str | None) -> str | None:
    return " ".join(one for one in notices if one) or None


async def _worded(shared: "ArticleSearch", connection: Connection, question: Question, words: Words) -> keyword.Found:
    language = shared.app.settings.articles_language
    return await keyword.find(connection, words, language, wanted=question.filter, limit=_MOST_KEYWORD)


async def _by_meaning(
    shared: "ArticleSearch",
    question: Question,
    generation: Generation,
    near: list[Passage],
    words: Words,
    worded: keyword.Found | None,
) -> _Found:
    near = hopeful(near, without_words=worded is not None and not worded.hits)
    if worded is None:
        return _Found(mode=question.mode, notice=None, fused=fuse(near, []), words=words)
    if worded.words.strict is not None:
        async with shared.app.connection() as connection:
            near = await _fitting(connection, worded.words.strict, near)
    fused = fuse(near, worded.hits, words_weight=shared.embedders.get(generation.embedder).words_weight)
    return _Found(mode=question.mode, notice=worded.words.notice, fused=fused, words=worded.words)


async def _fitting(connection: Connection, wanted: strict.Strict, near: list[Passage]) -> list[Passage]:
    """Who excludes a word, or insists on one, means it for every hit: what cannot be checked in time is none."""
    try:
        fit = await strict.fitting(connection, wanted, [one.article_id for one in near])
    except strict.TooSlow:
        return []
    return [one for one in near if one.article_id in fit]


async def _nearest(
    shared: "ArticleSearch", connection: Connection, generation: Generation, vector: Vectors, wanted: Filter, limit: int
) -> list[Passage]:
    try:
        return await shared.near.nearest(connection, generation, vector, wanted=wanted, limit=limit)
    except asyncpg.UndefinedTableError:
        raise Vanished from None


async def _answer(
    shared: "ArticleSearch",
    question: Question,
    generation: Generation,
    covered: Coverage,
    found: _Found,
    clock: "_Clock",
) -> Answer:
    page = found.fused[question.after : question.after + question.limit]
    hits = await _hits(shared, page, question.filter, generation, found.words)
    clock.lap("passages")
    end = question.after + question.limit
    return Answer(
        mode=found.mode,
        asked_mode=question.mode,
        notice=found.notice,
        hits=hits,
        next=end if end < len(found.fused) else None,
        coverage=covered,
        took_ms=clock.took_ms,
    )


async def _hits(
    shared: "ArticleSearch", page: Sequence[Fused], wanted: Filter, generation: Generation, words: Words | None
) -> list[Hit]:
    """An article that was deleted or withdrawn since it was found is left out."""
    async with shared.app.connection() as connection:
        known = {one.id: one for one in await articles.by_ids(connection, [one.article_id for one in page])}
        pairs = [
            (known[one.article_id], one)
            for one in page
            if one.article_id in known and wanted.takes(known[one.article_id])
        ]
        standing = await standings(connection, [article for article, _ in pairs], generation)
        pairs = [
            (article, kept)
            for article, fused in pairs
            if (kept := _showable(article, standing[article.id], fused, wanted.viewer)) is not None
        ]
        pieces = await shown(connection, pairs, words, shared.app.settings.articles_language)
    return [
        Hit(
            article=article,
            standing=standing[article.id],
            score=fused.score,
            passage=pieces[article.id],
            stale=fused.passage is not None and standing[article.id].chip == "stale",
        )
        for article, fused in pairs
    ]


def _showable(article: Summary, standing: Standing, fused: Fused, viewer: str | None) -> Fused | None:
    """Vectors of a text from before the article was shared are its owner's: others meet it by its words, or not yet."""
    if viewer is None or viewer == article.owner or fused.passage is None:
        return fused
    if (standing.indexed_revision or 0) >= (article.shared_from or 0):
        return fused
    if fused.score.keyword_rank is None:
        return None
    return replace(fused, passage=None, score=replace(fused.score, semantic_rank=None, similarity=None))


async def similar(shared: "ArticleSearch", article: Article | str, viewer: str | None, limit: int = 10) -> Answer:
    """Articles that come near to this one, or to its slug, without it."""
    for _ in range(_MOST_LOOKS):
        with suppress(Vanished):
            return await _similar(shared, article, viewer, limit)
    raise NotKnown(kind="generation", name="active")


async def _similar(shared: "ArticleSearch", given: Article | str, viewer: str | None, limit: int) -> Answer:
    clock, wanted = _Clock(), Filter(viewer=viewer)
    async with shared.app.connection() as connection:
        generation = await generations.active(connection)
        covered = await coverage(shared, connection, generation)
        article = await articles.get(connection, given) if isinstance(given, str) else given
        if article is None:
            raise NotKnown(kind="article", name=str(given))
        found = await _like(shared, connection, generation, article.id, wanted, limit)
    clock.lap("similar")
    hits = await _hits(shared, found.fused, wanted, generation, found.words)
    clock.lap("passages")
    return Answer(
        mode=found.mode,
        asked_mode="semantic",
        notice=found.notice,
        hits=hits,
        next=None,
        coverage=covered,
        took_ms=clock.took_ms,
    )


async def _like(
    shared: "ArticleSearch", connection: Connection, generation: Generation, article_id: int, wanted: Filter, limit: int
) -> _Found:
    try:
        mean = await shared.near.mean(connection, generation, article_id)
    except asyncpg.UndefinedTableError:
        raise Vanished from None
    if mean is not None:
        near = await _nearest(shared, connection, generation, mean, wanted, limit + 1)
        others = [one for one in hopeful(near) if one.article_id != article_id][:limit]
        return _Found(mode="semantic", notice=None, fused=fuse(others, []), words=None)
    words = await keyword.telling(connection, article_id, _TELLING_WORDS)
    language = shared.app.settings.articles_language
    others_too = await keyword.find(connection, words, language, wanted=wanted, limit=limit + 1)
    fused = fuse([], [one for one in others_too.hits if one.article_id != article_id][:limit])
    notice = "This article is not embedded yet, so others were found by the words that say most about it."
    return _Found(mode="keyword", notice=notice, fused=fused, words=words)


class _Clock:
    """What each part of a search took; of parts that go on beside each other, what was left after the one before."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.took_ms: dict[str, float] = {}

    def lap(self, part: str) -> None:
        now = time.perf_counter()
        self.took_ms[part] = round((now - self._last) * 1000, 2)
        self._last = now


__all__ = ["Answer", "Hit", "Mode", "Question", "Score", "Shown", "search", "similar"]
