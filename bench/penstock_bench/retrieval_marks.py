"""How good one list of answers is, against the grades that a person gave."""

import math
from collections.abc import Mapping, Sequence

DEPTH = 10
# Below this grade an article is about something near the question, but does not help to answer it.
HELPS = 2


def ndcg(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Gain 2^grade − 1, discounted by the logarithm of the place; 1: the best order there is."""
    best = sorted(relevant.values(), reverse=True)
    return _gain([relevant.get(slug, 0) for slug in found]) / _gain(best)


def recall(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    """The share of the articles that help which is among the first ten."""
    helping = {slug for slug, grade in relevant.items() if grade >= HELPS}
    return len(helping.intersection(found[:DEPTH])) / len(helping)


def reciprocal_rank(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    """1 for a first place of the first article that helps, 1/2 for a second, 0 beyond the tenth."""
    places = (place for place, slug in enumerate(found[:DEPTH], start=1) if relevant.get(slug, 0) >= HELPS)
    first = next(places, None)
    return 0.0 if first is None else 1 / first


def _gain(grades: Sequence[int]) -> float:
    gains = ((2.0**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades[:DEPTH], start=1))
    return math.fsum(gains)
