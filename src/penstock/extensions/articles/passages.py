"""The piece of an article that is shown with a hit, and the marks in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from penstock.extensions.articles import keyword, marks
from penstock.extensions.articles.articles import Summary
from penstock.extensions.articles.fusion import Fused
from penstock.extensions.articles.keyword import Words
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("passages", "penstock.extensions.articles")
Connection = Any

# Characters that are read at once in search of the best window. Longer texts are read on, piece by piece, as long as
# no word of the query was there; pieces overlap, so that a word at an edge is whole in one of them.
_MOST_READ = 200_000
_OVERLAP = 500
# Articles of one page that are read on: a page may have a hundred, of a million characters each.
_MOST_READ_ON = 10
_WINDOW = 500
_MOST_SHOWN = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Characters of the passage, from 0; `to` is the first one behind the mark."""

    __pydantic_config__ = WIRE

    from_: Annotated[int, Field(alias="from")]
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """`starts`: where it stands in the content of `revision`, in characters."""

    __pydantic_config__ = WIRE

    text: str
    marks: list[Mark]
    starts: int
    revision: int


class _Place(NamedTuple):
    """``windowed``: the best piece of it is still to be chosen."""

    revision: int
    starts: int
    ends: int
    windowed: bool

    def following(self) -> "_Place":
        starts = self.ends - _OVERLAP
        return self._replace(starts=starts, ends=starts + _MOST_READ)


async def shown(
    connection: Connection, hits: Sequence[tuple[Summary, Fused]], words: Words | None, language: str
) -> dict[int, ShownPassage]:
    """By article. An article that is deleted meanwhile has an empty one."""
    places = {article.id: _place(article, fused) for article, fused in hits}
    lexemes = words.lexemes if words else ()
    texts = await cut(connection, places)
    await _read_on(connection, places, texts, lexemes)
    pieces = {}
    for article_id, place in places.items():
        text, starts = texts.get(article_id, ""), place.starts
        if place.windowed:
            first, last = marks.window(text, lexemes, length=_WINDOW)
            text, starts = text[first:last], starts + first
        pieces[article_id] = (text[:_MOST_SHOWN], starts, place.revision)
    likely = marks.likely((text for text, _, _ in pieces.values()), lexemes) if lexemes else set()
    same = await keyword.same_words(connection, language, sorted(likely), lexemes) if likely else set()
    return {
        article_id: ShownPassage(
            text=text,
            marks=[Mark(from_=start, to=end) for start, end in marks.ranges(text, lexemes, same)],
            starts=starts,
            revision=revision,
        )
        for article_id, (text, starts, revision) in pieces.items()
    }


async def _read_on(
    connection: Connection, places: dict[int, _Place], texts: dict[int, str], lexemes: Sequence[str]
) -> None:
    """Moves the place of a long text to the first piece that has a word of the query; without one it stays."""
    ahead = {
        article_id: place
        for article_id, place in places.items()
        if place.windowed and lexemes and _may_go_on(texts.get(article_id, ""), lexemes)
    }
    ahead = dict(islice(ahead.items(), _MOST_READ_ON))
    while ahead:
        ahead = {article_id: place.following() for article_id, place in ahead.items()}
        pieces = await cut(connection, ahead)
        for article_id in list(ahead):
            piece = pieces.get(article_id, "")
            if not _may_go_on(piece, lexemes):
                place = ahead.pop(article_id)
                if marks.has_any(piece, lexemes):
                    places[article_id], texts[article_id] = place, piece


def _may_go_on(text: str, lexemes: Sequence[str]) -> bool:
    return len(text) == _MOST_READ and not marks.has_any(text, lexemes)


def _place(article: Summary, fused: Fused) -> _Place:
    """The passage that comes nearest, from the text that was embedded. The current text where only its words were
    found, where they are newer than the vectors, and where the vector is of the title alone."""
    near = fused.passage
    stale_and_worded = near is not None and near.revision < article.revision and fused.score.keyword is not None
    if near is None or stale_and_worded:
        return _Place(article.revision, 0, _MOST_READ, True)
    if near.ends <= near.starts:
        return _Place(near.revision, 0, _MOST_READ, True)
    return _Place(near.revision, near.starts, near.ends, False)


async def cut(connection: Connection, places: Mapping[int, _Place]) -> dict[int, str]:
    values = list(places.values())
    rows = await connection.fetch(
        _sql.cut,
        list(places),
        [place.revision for place in values],
        [place.starts for place in values],
        [place.ends for place in values],
    )
    return {row["article_id"]: row["text"] for row in rows}
