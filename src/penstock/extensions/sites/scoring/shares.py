"""Shares with intervals: twelve of twenty is not known to be 0.6."""

from collections.abc import Sequence
from math import sqrt

from penstock.extensions.sites.findings import Share

_Z = 1.959964  # nineteen times of twenty
NOTHING = Share(value=None, low=None, high=None, count=0)


def share(hits: int, count: int) -> Share:
    """Wilson's interval: stays between 0 and 1, and is honest about 0 of 3."""
    return _share(hits, count, effective=float(count))


def clustered(groups: Sequence[tuple[int, int]]) -> Share:
    """Of (hits, count) per prompt. Samples of one prompt resemble each other, so ten of them tell less than ten
    prompts: the interval is that of fewer trials, by as much as the prompts differ more than chance would have them."""
    filled = [(hits, count) for hits, count in groups if count]
    hits, count = sum(one for one, _ in filled), sum(size for _, size in filled)
    return _share(hits, count, effective=_effective(filled, hits, count)) if count else NOTHING


def _effective(groups: Sequence[tuple[int, int]], hits: int, count: int) -> float:
    """Number of independent trials that would know as much; between the number of prompts and that of samples."""
    number = len(groups)
    if hits in (0, count) or number < 2:
        return float(number)
    value = hits / count
    between = sum((one - value * size) ** 2 for one, size in groups) * number / (number - 1) / count**2
    chance = value * (1 - value) / count
    return min(float(count), max(float(number), count * chance / between)) if between > 0 else float(count)


def _share(hits: int, count: int, *, effective: float) -> Share:
    if count == 0:
        return NOTHING
    value = hits / count
    scale = 1 + _Z**2 / effective
    middle = (value + _Z**2 / (2 * effective)) / scale
    half = _Z / scale * sqrt(value * (1 - value) / effective + _Z**2 / (4 * effective**2))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Share(value=round(value, 4), low=round(low, 4), high=round(high, 4), count=count)
