"""Two lists of candidates become one, by their ranks: similarities and scores of words have no common measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.extensions.articles.keyword import ALL_WORDS, KeywordHit
from penstock.extensions.articles.near.filter import Passage
from penstock.extensions.articles.shared import WireRecord

MOST_FUSED = 200
"""Pages end here. Nobody reads further, and both lists would have to be longer than they are worth."""

# How slowly a place loses its worth: `k` of reciprocal rank fusion. docs/decisions/0019 has the figures.
_SLOWNESS = 4.0
# Meaning has 1. An article with all words of the query counts at least as much, also before it is embedded, so that a
# name finds what bears it. How much some of the words count depends on how good the vectors are.
_LEAST_WEIGHT_OF_ALL_WORDS = 1.0
# Below this part of the best similarity a passage has nothing to do with the query, whichever model it was. In
# absolute numbers, models differ too much; but below the floor even the best has nothing to do with it. Where no
# article has a single word of the query, it may be no word at all, and some passage is the nearest to that as well.
_HOPELESS_PART = 0.5
_HOPELESS_FLOOR = 0.15
_HOPELESS_FLOOR_WITHOUT_WORDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticScore(WireRecord):
    rank: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordScore(WireRecord):
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(WireRecord):
    """`fused`: what the order comes from. Null: not among the best of that list."""

    fused: float
    semantic: SemanticScore | None
    keyword: KeywordScore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    article_id: int
    score: Score
    passage: Passage | None


def hopeful(passages: Sequence[Passage], *, without_words: bool = False) -> list[Passage]:
    """Without those that are only there because some passage has to be the nearest. ``without_words``: words were
    searched for, and none was found."""
    floor = _HOPELESS_FLOOR_WITHOUT_WORDS if without_words else _HOPELESS_FLOOR
    least = max(floor, _HOPELESS_PART * max((one.similarity for one in passages), default=0.0))
    return [one for one in passages if one.similarity >= least]


def fuse(
    semantic: Sequence[Passage],
    keyword: Sequence[KeywordHit],
    *,
    words_weight: float = 1.0,
    slowness: float = _SLOWNESS,
) -> list[Fused]:
    """Both lists best first, an article at most once in each. Of equals, one that has the words comes first, then the
    older one. ``words_weight``: of the embedder that made the semantic list."""
    near = {one.article_id: (rank, one) for rank, one in enumerate(semantic, start=1)}
    worded = {one.article_id: (rank, one.score) for rank, one in enumerate(keyword, start=1)}

    def weight_of(score: float) -> float:
        return max(words_weight, _LEAST_WEIGHT_OF_ALL_WORDS) if score >= ALL_WORDS else words_weight

    best = ((1.0 if near else 0.0) + (weight_of(keyword[0].score) if keyword else 0.0)) / (slowness + 1)
    order = []
    for article_id in near.keys() | worded.keys():
        near_rank, _ = near.get(article_id, (None, None))
        word_rank, score = worded.get(article_id, (None, None))
        total = 0.0 if near_rank is None else 1.0 / (slowness + near_rank)
        total += 0.0 if word_rank is None or score is None else weight_of(score) / (slowness + word_rank)
        order.append((-round(total / best, 6), word_rank is None, article_id))
    order.sort()
    return [_fused(article_id, -total, near, worded) for total, _, article_id in order[:MOST_FUSED]]


def _fused(
    article_id: int, total: float, near: Mapping[int, tuple[int, Passage]], worded: Mapping[int, tuple[int, float]]
) -> Fused:
    passage = semantic = keyword = None
    if article_id in near:
        rank, passage = near[article_id]
        semantic = SemanticScore(rank=rank, similarity=passage.similarity)
    if article_id in worded:
        rank, score = worded[article_id]
        keyword = KeywordScore(rank=rank, score=round(score, 6))
    return Fused(article_id=article_id, score=Score(fused=total, semantic=semantic, keyword=keyword), passage=passage)
