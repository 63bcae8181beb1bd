"""Search: by meaning, by words, or both. Always answers from what is there.

No connection is held while the embedder works on the query, so a slow one cannot use them up.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

import asyncpg
import structlog

from penstock.errors import HandlerError, NotKnown, ThrottledError, UsageError
from penstock.extensions.articles import articles, generations, keyword
from penstock.extensions.articles.articles import Article, Summary, Visibility
from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.embedding_tasks import Chip, EmbeddingStatus, embedding_statuses
from penstock.extensions.articles.errors import EmbedderMisconfigured
from penstock.extensions.articles.fusion import MOST_FUSED, Fused, Score, fuse, hopeful
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.keyword import Words
from penstock.extensions.articles.near.filter import Filter, Passage
from penstock.extensions.articles.passages import ShownPassage, shown
from penstock.extensions.articles.shared import ArticleSearch, WireRecord
from penstock.extensions.articles.statistics import Coverage

Connection = Any

Mode = Literal["hybrid", "semantic", "keyword"]
MOST_CHARACTERS = 1000
_MOST_HITS = MOST_FUSED
_Read = TypeVar("_Read")
# Length of each list before they are fused; the same for every page, so that pages fit together.
_MOST_SEMANTIC = 100
_MOST_KEYWORD = 200
# Generations are dropped long after they were switched from; twice in one search is a coincidence already.
_MOST_LOOKS = 5
_TELLING_WORDS = 12
_SO = "so words alone were searched for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``viewer`` None: sees everything. ``since`` (included), ``until`` (not): of the last change. ``after``: hits that
    were shown before. ``generation`` None: the active one."""

    text: str
    mode: Mode = "hybrid"
    viewer: str | None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 10
    after: int = 0
    generation: Generation | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("The query is empty. Write at least one word.")
        if (length := len(self.text)) > MOST_CHARACTERS:
            raise UsageError(
                f"The query has {length:,} characters; at most {MOST_CHARACTERS:,} are searched for. Shorten it."
            )
        if "\0" in self.text:
            raise UsageError("The query holds a NUL character, which no text has. Remove it.")
        if any("\ud800" <= character <= "\udfff" for character in self.text):
            raise UsageError("The query holds half a character (a lone surrogate), which no text has. Remove it.")
        if self.mode not in ("hybrid", "semantic", "keyword"):
            raise UsageError(f"There is no search mode {self.mode!r}. Use hybrid, semantic or keyword.")
        if not 1 <= self.limit <= _MOST_HITS:
            raise UsageError(f"A search gives 1 to {_MOST_HITS} articles at a time, not {self.limit}.")
        if self.after < 0:
            raise UsageError(f"A page cannot start after {self.after} articles. Use 0 for the first page.")

    @property
    def filter(self) -> Filter:
        return Filter(viewer=self.viewer, author=self.author, since=self.since, until=self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(WireRecord):
    """`stale`: the vectors that found it are of an older text."""

    slug: str
    title: str
    author: str
    visibility: Visibility
    updated_at: datetime
    chip: Chip
    stale: bool
    score: Score
    passage: ShownPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``mode``: how it was answered; ``notice``: why that is not ``asked_mode``, or what else to know. ``next``: what
    ``after`` gives the next page; None: this was the last."""

    mode: Mode
    asked_mode: Mode
    notice: str | None
    hits: list[Hit]
    next: int | None
    coverage: Coverage
    took_ms: dict[str, float] = field(default_factory=dict)


class Vanished(Exception):
    """The generation was dropped while it was searched."""


class Unavailable(Exception):
    """There is no meaning to search by, and why, for whoever searched: words answer alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What both ways found. ``notice``: why one of them did not answer."""

    mode: Mode
    notice: str | None
    fused: list[Fused]
    words: Words | None


async def search(shared: ArticleSearch, question: Question) -> Answer:
    """Reads the active generation anew where it is dropped in the middle: a switch fails no search."""
    name = question.generation.name if question.generation else "active"
    return await _retried(lambda: _Look(shared, question.filter).answer(question), name)


async def similar(shared: ArticleSearch, article: Article, viewer: str | None, limit: int = 10) -> Answer:
    """Articles that come near to this one, without it."""
    return await _retried(lambda: _Look(shared, Filter(viewer=viewer)).like(article.id, limit), "active")


async def _retried(search: Callable[[], Awaitable[Answer]], generation: str) -> Answer:
    for _ in range(_MOST_LOOKS):
        with suppress(Vanished):
            return await search()
    raise NotKnown(kind="generation", name=generation)


class _Look:
    """One attempt at an answer, from one generation."""

    def __init__(self, shared: ArticleSearch, wanted: Filter) -> None:
        self._shared = shared
        self._wanted = wanted
        self._language = shared.settings.language
        self._clock = _Clock()

    async def answer(self, question: Question) -> Answer:
        """Words are looked up while the meaning is. Semantic searches need them for the marks, and as a way out."""
        near, worded = None, None
        try:
            async with self._shared.app.connection() as connection:
                generation = question.generation or await generations.active(connection)
                covered = await self._shared.counted.coverage(connection, generation)
                self._clock.lap("coverage")
                if meaning := _meaning(question):
                    near = asyncio.create_task(self._near(generation, covered, meaning))
                words = await keyword.understand(connection, self._language, question.text)
                if question.mode != "semantic":
                    worded = await self._worded(connection, words, _MOST_KEYWORD)
            self._clock.lap("keyword")
            found = await self._found(question.mode, generation, near, words, worded)
        finally:
            if near is not None:
                near.cancel()
                await asyncio.gather(near, return_exceptions=True)
        return await self._answer(question.mode, generation, covered, found, question.after, question.limit)

    async def like(self, article_id: int, limit: int) -> Answer:
        """By the mean of its passages; without any, by the words that say most about it."""
        async with self._shared.app.connection() as connection:
            generation = await generations.active(connection)
            covered = await self._shared.counted.coverage(connection, generation)
            mean = await _there(self._shared.near.mean(connection, generation, article_id))
            if mean is not None:
                passages = hopeful(await self._nearest(connection, generation, mean, limit + 1))
                fused = fuse([one for one in passages if one.article_id != article_id][:limit], [])
                found = _Found(mode="semantic", notice=None, fused=fused, words=None)
            else:
                words = await keyword.telling(connection, article_id, _TELLING_WORDS)
                hits = (await self._worded(connection, words, limit + 1)).hits
                fused = fuse([], [one for one in hits if one.article_id != article_id][:limit])
                notice = "This article is not embedded yet, so others were found by the words that say most about it."
                found = _Found(mode="keyword", notice=notice, fused=fused, words=words)
        self._clock.lap("similar")
        return await self._answer("semantic", generation, covered, found, 0, limit)

    async def _near(self, generation: Generation, covered: Coverage, meaning: str) -> list[Passage]:
        """With a connection of its own, once the vector is there: beside the search for words."""
        if covered.total and not covered.indexed + covered.stale:
            raise Unavailable(f"No article is embedded in generation {generation.name!r} yet, {_SO}.")
        vector = await _query_vector(self._shared, generation, meaning)
        async with self._shared.app.connection() as connection:
            return await self._nearest(connection, generation, vector, _MOST_SEMANTIC)

    async def _nearest(
        self, connection: Connection, generation: Generation, vector: Vectors, limit: int
    ) -> list[Passage]:
        near = self._shared.near.nearest(connection, generation, vector, wanted=self._wanted, limit=limit)
        return await _there(near)

    async def _worded(self, connection: Connection, words: Words, limit: int) -> keyword.Found:
        return await keyword.find(connection, words, self._language, wanted=self._wanted, limit=limit)

    async def _found(
        self,
        mode: Mode,
        generation: Generation,
        near: asyncio.Task[list[Passage]] | None,
        words: Words,
        worded: keyword.Found | None,
    ) -> _Found:
        notices: list[str | None] = []
        if near is not None:
            try:
                passages: list[Passage] | None = await near
            except Unavailable as why:
                passages, notices = None, [str(why)]
            self._clock.lap("semantic")
            if passages is not None:
                return await self._by_meaning(mode, generation, passages, words, worded)
        if worded is None:
            async with self._shared.app.connection() as connection:
                worded = await self._worded(connection, words, _MOST_KEYWORD)
        notices.append(worded.words.notice)
        if not words.lexemes and words.strict is None and worded.words.notice is None:
            notices.append("The query has only words that every text has; name what you look for.")
        notice = " ".join(one for one in notices if one) or None
        return _Found(mode="keyword", notice=notice, fused=fuse([], worded.hits), words=worded.words)

    async def _by_meaning(
        self, mode: Mode, generation: Generation, near: list[Passage], words: Words, worded: keyword.Found | None
    ) -> _Found:
        near = hopeful(near, without_words=worded is not None and not worded.hits)
        if worded is None:
            return _Found(mode=mode, notice=None, fused=fuse(near, []), words=words)
        if worded.words.strict is not None:
            async with self._shared.app.connection() as connection:
                near = await _fitting(connection, worded.words.strict, near)
        weight = self._shared.embedders.get(generation.embedder).words_weight
        fused = fuse(near, worded.hits, words_weight=weight)
        return _Found(mode=mode, notice=worded.words.notice, fused=fused, words=worded.words)

    async def _answer(
        self, asked_mode: Mode, generation: Generation, covered: Coverage, found: _Found, after: int, limit: int
    ) -> Answer:
        end = after + limit
        hits = await self._hits(found.fused[after:end], generation, found.words)
        self._clock.lap("passages")
        return Answer(
            mode=found.mode,
            asked_mode=asked_mode,
            notice=found.notice,
            hits=hits,
            next=end if end < len(found.fused) else None,
            coverage=covered,
            took_ms=self._clock.took_ms,
        )

    async def _hits(self, page: Sequence[Fused], generation: Generation, words: Words | None) -> list[Hit]:
        """An article that was deleted or withdrawn since it was found is left out."""
        async with self._shared.app.connection() as connection:
            there = await articles.by_ids(connection, [one.article_id for one in page])
            known = {one.id: one for one in there if self._wanted.takes(one)}
            statuses = await embedding_statuses(connection, list(known.values()), generation)
            pairs = [
                (article, kept)
                for fused in page
                if (article := known.get(fused.article_id)) is not None
                and (kept := _showable(article, statuses[article.id], fused, self._wanted.viewer)) is not None
            ]
            pieces = await shown(connection, pairs, words, self._language)
        return [
            Hit(
                slug=article.slug,
                title=article.title,
                author=article.owner,
                visibility=article.visibility,
                updated_at=article.updated_at,
                chip=statuses[article.id].chip,
                stale=fused.passage is not None and statuses[article.id].chip == "stale",
                score=fused.score,
                passage=pieces[article.id],
            )
            for article, fused in pairs
        ]


async def _query_vector(shared: ArticleSearch, generation: Generation, text: str) -> Vectors:
    """Raises Unavailable for anything the embedder does, and never waits longer than the setting says."""
    seconds = shared.settings.query_timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            embedder = await shared.embedders.for_generation(generation)
            row: Vectors = (await embedder.embed([text], purpose="query"))[0]
            return row
    except TimeoutError:
        why = f"did not answer within {seconds:g} s, {_SO}."
    except ThrottledError:
        why = f"asks for fewer requests, {_SO}."
    except EmbedderMisconfigured as error:
        why = f"is not set up right, {_SO}: {error}"
    except HandlerError as error:
        why = f"does not work at the moment, {_SO}: {error}"
    except Exception as error:
        log = structlog.get_logger("penstock.articles")
        log.error("articles.query_failed", embedder=generation.embedder, error=repr(error))
        why = f"failed ({type(error).__name__}), {_SO}."
    raise Unavailable(f"The embedder {generation.embedder!r} {why}")


def _meaning(question: Question) -> str:
    """What is embedded. In a semantic search quotes and signs are part of the text."""
    if question.mode == "keyword":
        return ""
    return question.text if question.mode == "semantic" else keyword.meant(question.text)


async def _fitting(connection: Connection, wanted: keyword.Strict, near: list[Passage]) -> list[Passage]:
    """Who excludes a word, or insists on one, means it for every hit: what cannot be checked in time is none."""
    try:
        fit = await keyword.fitting(connection, wanted, [one.article_id for one in near])
    except keyword.TooSlow:
        return []
    return [one for one in near if one.article_id in fit]


async def _there(reading: Awaitable[_Read]) -> _Read:
    """What is read of a generation's table, as long as it has one."""
    try:
        return await reading
    except asyncpg.UndefinedTableError:
        raise Vanished from None


def _showable(article: Summary, status: EmbeddingStatus, fused: Fused, viewer: str | None) -> Fused | None:
    """Vectors of a text from before the article was shared are its owner's: others meet it by its words, or not yet."""
    if viewer is None or viewer == article.owner or fused.passage is None:
        return fused
    if (status.indexed_revision or 0) >= (article.shared_from or 0):
        return fused
    if fused.score.keyword is None:
        return None
    return replace(fused, passage=None, score=replace(fused.score, semantic=None))


class _Clock:
    """What each part of a search took; of parts that go on beside each other, what was left after the one before."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.took_ms: dict[str, float] = {}

    def lap(self, part: str) -> None:
        now = time.perf_counter()
        self.took_ms[part] = round((now - self._last) * 1000, 2)
        self._last = now
