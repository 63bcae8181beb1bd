"""How many messages of a stage may wait in its broker. Pure.

What waits there stands in line: an urgent task, or one of another lane, comes behind it. So no more than what the
workers take in half a second, as they have done lately; twice as much each time they have nearly emptied it. While
nobody takes anything, it stays as it is.
"""

LEAST = 100
FIRST = 500
_SECONDS = 0.5
_NEARLY_EMPTY = 0.25


def relay_ahead(*, before: int, taken_per_second: float, waiting: int, most: int) -> int:
    """``before``: what it was; ``waiting``: messages that were left when it was looked at."""
    if taken_per_second <= 0:
        return min(before, most)
    wanted = int(taken_per_second * _SECONDS)
    if waiting <= before * _NEARLY_EMPTY:
        wanted = max(wanted, before * 2)
    return max(min(wanted, most), min(LEAST, most))
