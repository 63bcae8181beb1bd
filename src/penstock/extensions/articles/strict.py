"""Queries with quotes, ``OR`` and ``-``: what they say, and the articles that fit.

What is bounded: the words and phrases of a query; the articles whose lists of words are unpacked and compared with it
(``_MOST_FOUND`` that the index of words gives and ``_MOST_TITLED`` that the index of titles gives); those of them that
are ranked; and, whatever the plan is, the time the server spends on it (``TIMEOUT_MS``). What is not: the index lists
every article that has the words before the first is taken, which is a few milliseconds for a hundred thousand.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from penstock.extensions.articles.near.filter import Filter
from penstock.storage.queries import load

_sql = load("strict", "penstock.extensions.articles")
Connection = Any

TIMEOUT_MS = 300
_MOST_PHRASES = 8
_MOST_PHRASE_WORDS = 12
_MOST_WORDS = 32
_MOST_FOUND = 2000
_MOST_TITLED = 250
_MOST_RANKED = 250
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
    f"At most {_MOST_PHRASES} phrases of {_MOST_PHRASE_WORDS} words, and {_MOST_WORDS} words in all, are searched for"
    f" as they are written. The query has more, {_SO}"
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
class Fits:
    """(article, score) best first; ``notice``: what was not looked at."""

    scores: list[tuple[int, float]]
    notice: str | None


def is_strict(text: str) -> bool:
    return _STRICT.search(text) is not None


def meant(text: str) -> str:
    """What is asked for, without what is excluded and without signs: its meaning."""
    if not is_strict(text):
        return text
    return " ".join(token.strip('"') for branch in _branches(text) for token in branch if not token.startswith("-"))


async def read(connection: Connection, language: str, text: str) -> Reading:
    """Only for what ``is_strict``."""
    plain, branches = meant(text), _branches(text)
    kept = [branch for branch in branches if any(_is_wanted(token) for token in branch)]
    if not kept:
        return Reading(plain="", notice=ONLY_EXCLUDES)
    search, wanted = await connection.fetchrow(_sql.read, language, " OR ".join(" ".join(branch) for branch in kept))
    if not search:
        return Reading(plain=plain)
    if _is_too_much(search):
        return Reading(plain=plain, notice=TOO_MUCH)
    if wanted in ("", "T"):
        return Reading(plain=plain, notice=TOO_WIDE)
    strict = Strict(search=search, loose=_loose(wanted), phrased=_FOLLOWS.search(_shape(search)) is not None)
    return Reading(plain=plain, strict=strict, notice=None if len(kept) == len(branches) else LEFT_OUT)


async def find(
    connection: Connection,
    strict: Strict,
    language: str,
    plain: str,
    *,
    words: Sequence[str],
    weights: Sequence[float],
    wanted: Filter,
    limit: int,
) -> Fits:
    """Raises TooSlow. A query without phrases is answered by the index alone, and so is what it excludes."""
    values = (
        *(language, strict.search, strict.loose if strict.phrased else strict.search, strict.loose),
        *(plain, list(words), list(weights), *wanted.values),
        *(_MOST_FOUND, _MOST_TITLED, _MOST_RANKED, limit),
    )
    rows = await _hurried(connection, _sql.ranked, *values)
    scores = [(row["article_id"], row["score"]) for row in rows if row["article_id"] is not None]
    missing = strict.phrased and rows[0]["looked"] == _MOST_FOUND and len(scores) < limit
    return Fits(scores=scores, notice=NOT_ALL if missing else None)


async def fitting(connection: Connection, strict: Strict, ids: Sequence[int]) -> set[int]:
    """Those of ``ids`` that the query takes. Raises TooSlow."""
    return set((await _hurried(connection, _sql.fitting, strict.search, list(ids)))[0][0])


async def _hurried(connection: Connection, query: str, *values: Any) -> list[Any]:
    try:
        async with connection.transaction():
            await connection.fetchval(_sql.hurry, str(TIMEOUT_MS))
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
        shape.count("w") > _MOST_WORDS or len(lengths) > _MOST_PHRASES or max(lengths, default=0) > _MOST_PHRASE_WORDS
    )


def _loose(wanted: str) -> str:
    """Words that follow each other become words that are all there: the index knows that without the articles."""
    pieces = _QUOTED.split(wanted)
    operators = [_FOLLOWS.sub("&", piece) for piece in pieces[::2]]
    words = [f"'{word}'" for word in pieces[1::2]] + [""]
    return "".join(operator + word for operator, word in zip(operators, words, strict=True))
