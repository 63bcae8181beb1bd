"""Percentiles out of counters of buckets, and what sets the pace of a stage."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.insight.history import point_of, step_of
from penstock.insight.waiting import Waiting, cause_of, limited_by, paused
from penstock.observe.times_spread import BUCKETS, bucket_of, percentile_seconds
from penstock.storage.limits import KnownLimit


def test_buckets_rise_with_the_time_and_end_somewhere() -> None:
    times = [0.0, 0.0004, 0.001, 0.0012, 0.002, 0.5, 1, 60, 3600, 1e9]
    found = [bucket_of(one) for one in times]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, BUCKETS - 1)


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("seed", range(20))
def test_a_percentile_is_off_by_less_than_a_fifth(seed: int, share: float) -> None:
    chance = random.Random(seed)
    times = sorted(chance.lognormvariate(0, 2) for _ in range(5000))
    counts: dict[int, int] = {}
    for one in times:
        counts[bucket_of(one)] = counts.get(bucket_of(one), 0) + 1
    found = percentile_seconds(counts, share)
    assert found is not None
    assert found == pytest.approx(times[int(share * len(times))], rel=0.2)


def test_nothing_measured_has_no_percentile() -> None:
    assert percentile_seconds({}, 0.95) is None
    assert percentile_seconds({3: 0}, 0.95) is None


def test_a_chart_has_at_most_a_hundred_and_twenty_points() -> None:
    assert [step_of(minutes) for minutes in (1, 60, 120, 121, 360, 1440)] == [1, 1, 1, 2, 5, 15]


def test_a_replay_that_takes_counts_back_shows_no_negative_number() -> None:
    point = point_of(datetime.now(UTC), {0: 1, 2: -5, 3: -1, 7: 3}, single=False)
    assert (point.enqueued, point.done, point.failed) == (0, 0, 0)
    assert point.waiting is None


def load(**more: Any) -> Waiting:
    usual = {"running": 2, "processors": {"idle": 1, "busy": 1}}
    return Waiting(**{**usual, **more})


def limit(**more: Any) -> KnownLimit:
    usual = {
        "key": "wikidata",
        "rate": 5.0,
        "burst": 1,
        "version": 1,
        "since": 1,
        "blocked_seconds": 0.0,
        "failure_limit": None,
        "pause_seconds": None,
        "failures": 0,
        "open": False,
        "probe_in_seconds": None,
        "store": "postgres",
        "number": 0,
        "changed_seconds": 0.0,
        "unsteady": 0,
    }
    return KnownLimit(**{**usual, **more})


@pytest.mark.parametrize(
    ("seen", "key", "cause"),
    [
        (load(waiting=False), None, None),
        (load(), None, None),
        (
            load(stage_paused=paused("ann", "new prices")),
            None,
            "paused by ann: new prices",
        ),
        (load(served=False), None, "no live worker serves it"),
        (load(max_running=2), None, "at most 2 run at a time"),
        (load(), limit(), "limited by wikidata 5/s"),
        (load(), limit(rate=None), None),
        (load(), limit(blocked_seconds=3.2), "wikidata is closed for 3.2 s"),
        (load(), limit(open=True), "the circuit of wikidata is open"),
        (load(processors={"busy": 4, "idle": 0}), None, "all 4 processors are busy"),
        (load(due_seconds=540.0, processors={"busy": 4}), None, "the next one is due in 9 min"),
        (load(due_seconds=0.2), limit(), "limited by wikidata 5/s"),
        (load(lane_paused=True), None, "what waits is in paused lanes"),
    ],
)
def test_a_backlog_says_what_sets_its_pace(seen: Waiting, key: KnownLimit | None, cause: str | None) -> None:
    found = cause_of(seen if key is None else replace(seen, limited_by=limited_by(key)))
    assert (found and found.sentence) == cause


@pytest.mark.parametrize(
    ("seen", "stops"),
    [
        (load(max_running=2), False),
        (load(processors={"busy": 4}), False),
        (load(stage_paused="paused"), True),
        (load(served=False), True),
        (load(due_seconds=540.0), True),
        (load(lane_paused=True), True),
    ],
)
def test_the_pace_of_the_last_minute_tells_no_end_of_what_stands_still(seen: Waiting, stops: bool) -> None:
    found = cause_of(seen)
    assert found is not None
    assert found.stops is stops
