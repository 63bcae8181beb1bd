"""How failures spread over a time, in equal parts."""

from datetime import UTC, datetime, timedelta

from penstock.insight.error_groups import TREND_PARTS, trend

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def test_every_failure_counts_in_its_part_the_oldest_first() -> None:
    times = [NOW - timedelta(minutes=minutes) for minutes in (1, 2, 61, 24 * 60 - 1)]
    counted = trend(times, until=NOW, hours=24)
    assert (counted[-1], counted[-2], counted[0], sum(counted)) == (2, 1, 1, 4)
    assert len(counted) == TREND_PARTS


def test_clocks_that_differ_lose_nothing() -> None:
    counted = trend([NOW + timedelta(seconds=3), NOW - timedelta(hours=1, seconds=3)], until=NOW, hours=1)
    assert (counted[0], counted[-1], sum(counted)) == (1, 1, 2)
