"""Finds articles by their words. One function per query of ``sql/keyword.sql`` and ``sql/strict.sql``.

Work is bounded whatever is asked: words that many articles share are only ranked by, not searched for, and few articles
are looked at in detail. Of queries with quotes, ``OR`` and ``-`` these are bounded: the words and phrases; the articles
whose lists of words are unpacked and compared with it (``_MOST_FOUND`` that the index of words gives and
``_MOST_TITLED`` that the index of titles gives); those of them that are ranked; and, whatever the plan is, the time the
server spends on it (``TIMEOUT_MS``). What is not: the index lists every article that has the words before the first is
taken, which is a few milliseconds for a hundred thousand.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import asyncpg

from penstock.extensions.articles.near.filter import Filter
from penstock.storage.queries import load

_sql = load("keyword", "penstock.extensions.articles")
_strict = load("strict", "penstock.extensions.articles")
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
# Of queries with quotes, `OR` and `-`.
TIMEOUT_MS = 300
_MOST_PHRASES = 8
_MOST_PHRASE_WORDS = 12
_MOST_STRICT_WORDS = 32
_MOST_TITLED = 250
_MOST_STRICT_RANKED = 250
# Quotes in pairs, a word that is excluded, alternatives. A plain `or` inside a sentence is just a word.
_STRICT = re.compile(r'"[^"]*\w[^"]*"|(?:^|\s)-\w|\w\s+OR\s+\S|^\s*\S+(?:\s+or\s+\S+)+\s*$')
_TOKEN = re.compile(r'-?"[^"]*"|\S+')
_HAS_WORD = re.compile(r"\w")
# In the server's notation: a word in single quotes, and words that have to follow each other.
_QUOTED = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_FOLLOWS = re.compile(r"<(?:-|\d+)>")
_PHRASE = re.compile(r"w(?: <(?:-|\d+)> w)+")

_SO = "so its words were searched for, without quotes, OR and exclusions."
ONLY_EXCLUDES = "The query only says what should not be there. Add a word that should."
LEFT_OUT = "An alternative that only excludes words takes nearly every article, so it was left out."
TOO_WIDE = f"A part of the query only excludes words and takes nearly every article, {_SO}"
TOO_MUCH = (
    f"At most {_MOST_PHRASES} phrases of {_MOST_PHRASE_WORDS} words, and {_MOST_STRICT_WORDS} words in all, are"
    f" searched for as they are written. The query has more, {_SO}"
)
TOO_SLOW = f"The query as it is written took longer than {TIMEOUT_MS} ms, {_SO}"
NOTHING_FITS = f"No article matches the query as written, {_SO}"
NOT_ALL = (
    f"More than {_MOST_FOUND:,} articles have the words of the phrase; {_MOST_FOUND:,} of them, and the titles, were"
    " looked at. Add a rarer word."
)


class TooSlow(Exception):
    """The server gave up after ``TIMEOUT_MS``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """In the server's notation. ``search``: the query; ``loose``: its words in any order, without what is excluded."""

    search: str
    loose: str
    phrased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """``plain``: the words that should be there, as a text; ``strict`` None: they are all that is searched for."""

    plain: str
    strict: Strict | None = None
    notice: str | None = None


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
    reading = await _read(connection, language, text) if is_strict(text) else Reading(plain=text)
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
    if words.strict is not None:
        try:
            hits, notice = await _find_strict(connection, words, words.strict, language, wanted=wanted, limit=limit)
        except TooSlow:
            notice = TOO_SLOW
        else:
            if hits:
                return Found(words=replace(words, notice=notice or words.notice), hits=hits)
            notice = " ".join(filter(None, (notice, NOTHING_FITS)))
        words = replace(words, strict=None, notice=notice)
    if not words.searches:
        return Found(words=words, hits=[])
    rows = await connection.fetch(
        _sql.ranked,
        *(language, words.text, words.searches, [quoted(lexeme) for lexeme in words.lexemes], words.weights),
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


def is_strict(text: str) -> bool:
    return _STRICT.search(text) is not None


def meant(text: str) -> str:
    """What is asked for, without what is excluded and without signs: its meaning."""
    if not is_strict(text):
        return text
    return " ".join(token.strip('"') for branch in _branches(text) for token in branch if not token.startswith("-"))


async def _read(connection: Connection, language: str, text: str) -> Reading:
    """Only for what ``is_strict``."""
    plain, branches = meant(text), _branches(text)
    kept = [branch for branch in branches if any(_is_wanted(token) for token in branch)]
    if not kept:
        return Reading(plain="", notice=ONLY_EXCLUDES)
    search, wanted = await connection.fetchrow(_strict.read, language, " OR ".join(" ".join(branch) for branch in kept))
    if not search:
        return Reading(plain=plain)
    if _is_too_much(search):
        return Reading(plain=plain, notice=TOO_MUCH)
    if wanted in ("", "T"):
        return Reading(plain=plain, notice=TOO_WIDE)
    strict = Strict(search=search, loose=_loose(wanted), phrased=_FOLLOWS.search(_shape(search)) is not None)
    return Reading(plain=plain, strict=strict, notice=None if len(kept) == len(branches) else LEFT_OUT)


async def _find_strict(
    connection: Connection, words: Words, strict: Strict, language: str, *, wanted: Filter, limit: int
) -> tuple[list[KeywordHit], str | None]:
    """Best first, and what was not looked at. Raises TooSlow. A query without phrases is answered by the index alone,
    and so is what it excludes."""
    values = (
        *(language, strict.search, strict.loose if strict.phrased else strict.search, strict.loose),
        *(words.text, [quoted(lexeme) for lexeme in words.lexemes], list(words.weights), *wanted.values),
        *(_MOST_FOUND, _MOST_TITLED, _MOST_STRICT_RANKED, limit),
    )
    rows = await _hurried(connection, _strict.ranked, *values)
    hits = [
        KeywordHit(article_id=row["article_id"], score=row["score"]) for row in rows if row["article_id"] is not None
    ]
    missing = strict.phrased and rows[0]["looked"] == _MOST_FOUND and len(hits) < limit
    return hits, NOT_ALL if missing else None


async def fitting(connection: Connection, strict: Strict, ids: Sequence[int]) -> set[int]:
    """Those of ``ids`` that the query takes. Raises TooSlow."""
    return set((await _hurried(connection, _strict.fitting, strict.search, list(ids)))[0][0])


async def _hurried(connection: Connection, query: str, *values: Any) -> list[Any]:
    try:
        async with connection.transaction():
            await connection.fetchval(_strict.hurry, str(TIMEOUT_MS))
            return list(await connection.fetch(query, *values))
    except asyncpg.QueryCanceledError:
        raise TooSlow from None


def _branches(text: str) -> list[list[str]]:
    """The alternatives, each with its words and phrases."""
    branches: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        if token.lower() == "or":
            branches.append([])
        else:
            branches[-1].append(token)
    return [branch for branch in branches if branch]


def _is_wanted(token: str) -> bool:
    return not token.startswith("-") and _HAS_WORD.search(token) is not None


def _shape(search: str) -> str:
    """Every word is one letter, so that signs inside words are not taken for operators."""
    return _QUOTED.sub("w", search)


def _is_too_much(search: str) -> bool:
    shape = _shape(search)
    lengths = [phrase.count("w") for phrase in _PHRASE.findall(shape)]
    return (
        shape.count("w") > _MOST_STRICT_WORDS
        or len(lengths) > _MOST_PHRASES
        or max(lengths, default=0) > _MOST_PHRASE_WORDS
    )


def _loose(wanted: str) -> str:
    """Words that follow each other become words that are all there: the index knows that without the articles."""
    pieces = _QUOTED.split(wanted)
    operators = [_FOLLOWS.sub("&", piece) for piece in pieces[::2]]
    words = [f"'{word}'" for word in pieces[1::2]] + [""]
    return "".join(operator + word for operator, word in zip(operators, words, strict=True))
