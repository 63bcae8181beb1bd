"""Finds articles by their words. One function per query of ``sql/keyword.sql``.

Work is bounded whatever is asked: words that many articles share are only ranked by, not searched for, and few articles
are looked at in detail. ``strict.py`` says what holds for quotes, ``OR`` and ``-``.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.extensions.articles import strict
from penstock.extensions.articles.near.filter import Filter
from penstock.extensions.articles.strict import Reading, Strict
from penstock.storage.queries import load

_sql = load("keyword", "penstock.extensions.articles")
Connection = Any

ALL_WORDS = 1.0
"""From this score on an article has every word of the query."""

# Articles that one query may bring up for ranking: what costs a few milliseconds.
_MOST_FOUND = 2000
# Of them, those whose words are looked at in detail.
_MOST_RANKED = 100
_MOST_WORDS = 24
# A word that ANALYZE did not remember is rarer than the rarest that it did; most are far rarer.
_RARER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A query as the index of words sees it. ``text`` and ``lexemes`` (rarest first): without what is excluded;
    ``strict``: where its writer used quotes, ``OR`` or ``-``; ``notice``: what of that was not done, and why."""

    text: str
    lexemes: tuple[str, ...]
    weights: tuple[float, ...]
    searches: tuple[str, ...]
    articles: float
    strict: Strict | None = None
    notice: str | None = None

    @property
    def counted(self) -> bool:
        """Whether each search is for one word, so that its rarity is counted on the way."""
        return all(search == quoted(lexeme) for search, lexeme in zip(self.searches, self.lexemes, strict=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordHit:
    """``score``: 0 to 1 by the words that are there, one more for all of them or for what a strict query asks, one more
    for all in that order."""

    article_id: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``words``: as they were searched for in the end."""

    words: Words
    hits: list[KeywordHit]


async def understand(connection: Connection, language: str, text: str) -> Words:
    """Accents are composed, as those in the index are."""
    text = unicodedata.normalize("NFC", text)
    reading = await strict.read(connection, language, text) if strict.is_strict(text) else Reading(plain=text)
    row = await connection.fetchrow(_sql.lexemes, language, reading.plain)
    shares = list(zip(row["lexemes"], row["shares"], strict=True))
    plain = weighed(reading.plain, shares, articles=row["articles"], rare=row["rare"])
    return replace(plain, strict=reading.strict, notice=reading.notice)


def weighed(
    text: str,
    shares: Sequence[tuple[str, float | None]],
    *,
    articles: float,
    rare: float | None,
) -> Words:
    """Chooses what is searched for. ``shares``: words, rarest first, with the part of the articles that have them."""
    total = max(articles, 1.0)
    shares = shares[:_MOST_WORDS]
    counts = [max(total * ((rare or 0.0) / _RARER if share is None else share), 1.0) for _, share in shares]
    lexemes = tuple(lexeme for lexeme, _ in shares)
    return Words(
        text=text,
        lexemes=lexemes,
        weights=tuple(math.log(1 + total / count) for count in counts),
        searches=_searches(lexemes, counts),
        articles=total,
    )


def _searches(lexemes: Sequence[str], counts: Sequence[float]) -> tuple[str, ...]:
    """Any of the words, from the rarest on, as long as few articles have them; all at once where every one is common,
    and then also the rarest alone, in case no article has all."""
    within = 0
    while within < len(counts) and sum(counts[: within + 1]) <= _MOST_FOUND:
        within += 1
    if within:
        return tuple(quoted(lexeme) for lexeme in lexemes[:within])
    if len(lexemes) < 2:
        return tuple(quoted(lexeme) for lexeme in lexemes)
    return (" & ".join(quoted(lexeme) for lexeme in lexemes), quoted(lexemes[0]))


async def find(connection: Connection, words: Words, language: str, *, wanted: Filter, limit: int) -> Found:
    """Best first; of equals the older one. A strict query that takes too long, or that nothing fits, is answered by its
    words."""
    lexemes = [quoted(lexeme) for lexeme in words.lexemes]
    if words.strict is not None:
        try:
            fits = await strict.find(
                connection,
                words.strict,
                language,
                words.text,
                words=lexemes,
                weights=words.weights,
                wanted=wanted,
                limit=limit,
            )
        except strict.TooSlow:
            notice = strict.TOO_SLOW
        else:
            if fits.scores:
                hits = [KeywordHit(article_id=article_id, score=score) for article_id, score in fits.scores]
                return Found(words=replace(words, notice=fits.notice or words.notice), hits=hits)
            notice = " ".join(filter(None, (fits.notice, strict.NOTHING_FITS)))
        words = replace(words, strict=None, notice=notice)
    if not words.searches:
        return Found(words=words, hits=[])
    rows = await connection.fetch(
        _sql.ranked,
        *(language, words.text, words.searches, lexemes, words.weights),
        *wanted.values,
        *(_MOST_FOUND, _MOST_RANKED, limit, words.articles if words.counted else None),
    )
    return Found(words=words, hits=[KeywordHit(**row) for row in rows])


async def same_words(connection: Connection, language: str, words: Sequence[str], lexemes: Sequence[str]) -> set[str]:
    """Those of ``words`` that are one of the query's in another form."""
    rows = await connection.fetch(_sql.same_words, language, list(words), list(lexemes))
    return {row["word"] for row in rows}


async def telling(connection: Connection, article_id: int, most: int) -> Words:
    """The words that say most about an article, as a query."""
    rows = await connection.fetch(_sql.telling, article_id, most)
    articles, rare = await connection.fetchrow(_sql.size)
    shares = sorted(((row["lexeme"], row["share"]) for row in rows), key=lambda pair: pair[1] or 0.0)
    return weighed(" ".join(lexeme for lexeme, _ in shares), shares, articles=articles, rare=rare)


def quoted(lexeme: str) -> str:
    """As a query for this word and nothing else."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
